// SPDX-License-Identifier: Apache-2.0
/// The tokenizer's files in checkpoints: a model means nothing without the tokenizer of its tokens.
/// Tests: tests/trainer/kept_tokenizer_test.cc
#pragma once

#include <cstdint>
#include <string>

#include "src/base/status.h"
#include "trainer/run/data_source.h"

namespace weir::trainer {

/// The tokenizer of the newest checkpoint.
struct KeptTokenizer {
  std::string checkpoint;  ///< path of its folder; empty: there is none, or without a tokenizer
  uint64_t checksum = 0;   ///< of the files
  bool given = false;      ///< whether the source has one of its own, which must be the same

  /// invalid_argument if a run's tokenizer is another one.
  Status check(const TokenizerFiles& files) const;
};

/// Looks for a checkpoint in the folder, and takes its tokenizer unless the source names one.
KeptTokenizer use_kept_tokenizer(const std::string& checkpoints, DataSource& source);

}  // namespace weir::trainer
