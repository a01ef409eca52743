// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/kept_tokenizer.h"

#include <fmt/format.h>

#include "trainer/checkpoint/loader.h"
#include "trainer/run/checkpoint_words.h"

namespace weir::trainer {

KeptTokenizer use_kept_tokenizer(const std::string& checkpoints, DataSource& source) {
  if (checkpoints.empty()) return {};
  const auto found = checkpoint::newest(checkpoints);
  const uint64_t checksum = found.ok() ? tokenizer_in(found->contents.words) : 0;
  if (checksum == 0) return {};
  KeptTokenizer kept{found->path, checksum, !source.tokenizer.empty()};
  if (!kept.given) source.tokenizer = kept.checkpoint;
  return kept;
}

Status KeptTokenizer::check(const TokenizerFiles& files) const {
  if (checkpoint.empty() || checksum_of(files) == checksum) return {};
  return Status(Code::invalid_argument,
                given ? fmt::format("--tokenizer is not the tokenizer with which the checkpoint {} was "
                                    "trained; expected the same files, or none, as the checkpoint has them",
                                    checkpoint)
                      : fmt::format("{}: the checkpoint's tokenizer has changed; expected the files with "
                                    "which it was trained",
                                    checkpoint));
}

}  // namespace weir::trainer
