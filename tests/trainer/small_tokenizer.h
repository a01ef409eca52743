// SPDX-License-Identifier: Apache-2.0
/// The file of a small tokenizer: bytes, two merges, and a token with which documents begin.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "trainer/tokenizer/byte_letters.h"

namespace weir::trainer {

inline std::string some_tokenizer() {
  nlohmann::json vocabulary = nlohmann::json::object();
  for (int byte = 0; byte < 256; ++byte) vocabulary[letter_of_byte(static_cast<uint8_t>(byte))] = byte;
  vocabulary["he"] = 256;
  vocabulary["hey"] = 257;
  const nlohmann::json file = {
      {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", {"h e", "he y"}}}},
      {"added_tokens", {{{"id", 258}, {"content", "<|endoftext|>"}, {"special", true}}}},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}}};
  return file.dump();
}

}  // namespace weir::trainer
