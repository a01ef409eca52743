// SPDX-License-Identifier: Apache-2.0
/// Writes a model into a folder, as Hugging Face's GPT2LMHeadModel or LlamaForCausalLM:
/// `model.safetensors`, `config.json`, `tokenizer.json` and `tokenizer_config.json`. For
/// tokens that are not bytes, the files of their tokenizer are written if they are known.
/// Tests: tests/trainer/exchange_test.cc
#pragma once

#include <span>
#include <string>
#include <vector>

#include "trainer/exchange/safetensors_writer.h"
#include "trainer/model/model.h"
#include "trainer/tokenizer/bpe_tokenizer.h"

namespace weir::trainer {

/// The units of a model are added in order. Movable; used by one thread at a time. Errors: system_error with
/// the path.
class ExportedModel {
 public:
  /// `tokenizer_files`: written into the folder; empty: those of bytes are written if
  /// tokens are bytes. Makes the folder and what is missing above it. Nothing in it changes before finish().
  static Result<ExportedModel> create(const std::string& folder, const Config& config,
                                      TokenizerFiles tokenizer_files = {});

  /// Adds the next unit: its whole array, as `table` describes it.
  Status add(const ParameterTable& table, std::span<const float> values);
  /// All files are complete when the call returns.
  Status finish();

 private:
  ExportedModel(std::string folder, Config config, TokenizerFiles files, SafetensorsWriter writer)
      : folder_(std::move(folder)),
        config_(std::move(config)),
        tokenizer_files_(std::move(files)),
        writer_(std::move(writer)) {}

  std::string folder_;
  Config config_;
  TokenizerFiles tokenizer_files_;
  SafetensorsWriter writer_;
};

}  // namespace weir::trainer
