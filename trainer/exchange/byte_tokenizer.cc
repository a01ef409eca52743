// SPDX-License-Identifier: Apache-2.0

#include "trainer/exchange/byte_tokenizer.h"

#include <nlohmann/json.hpp>

#include "trainer/model/config.h"
#include "trainer/tokenizer/byte_letters.h"

namespace weir::trainer {
using nlohmann::ordered_json;

std::string tokenizer_text() {
  ordered_json vocabulary = ordered_json::object();
  for (Index byte = 0; byte < kBytes; ++byte) vocabulary[letter_of_byte(static_cast<uint8_t>(byte))] = byte;
  const ordered_json by_bytes = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
  const ordered_json all = {{"version", "1.0"},
                            {"truncation", nullptr},
                            {"padding", nullptr},
                            {"added_tokens", ordered_json::array()},
                            {"normalizer", nullptr},
                            {"pre_tokenizer", by_bytes},
                            {"post_processor", nullptr},
                            {"decoder", by_bytes},
                            {"model",
                             {{"type", "BPE"},
                              {"dropout", nullptr},
                              {"unk_token", nullptr},
                              {"continuing_subword_prefix", nullptr},
                              {"end_of_word_suffix", nullptr},
                              {"fuse_unk", false},
                              {"byte_fallback", false},
                              {"vocab", vocabulary},
                              {"merges", ordered_json::array()}}}};
  return all.dump(2) + "\n";
}

std::string tokenizer_config_text(Index length) {
  const ordered_json all = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                            {"model_max_length", length},
                            {"clean_up_tokenization_spaces", false}};
  return all.dump(2) + "\n";
}

}  // namespace weir::trainer
