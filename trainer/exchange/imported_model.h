// SPDX-License-Identifier: Apache-2.0
/// A model in a folder of Hugging Face's GPT-2 or Llama, of which the parameters of a run are read.
/// Tests: tests/trainer/exchange_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/exchange/foreign_config.h"
#include "trainer/exchange/safetensors_files.h"
#include "trainer/model/parameters.h"

namespace weir::trainer {

/// Movable; used by one thread at a time. Errors begin with the path of the file.
class ImportedModel {
 public:
  /// Reads `config.json` and the header of `model.safetensors`, or those of the files of its index; the names
  /// of tensors may also be without their first part, "transformer." or "model.". invalid_argument if a
  /// tensor is missing or has another shape. `tied`: whether the output layer is to be tied to the embedding;
  /// false for a tied model: it begins as a copy; invalid_argument if a model that is not tied is to be.
  static Result<ImportedModel> open(const std::string& folder, std::optional<bool> tied = std::nullopt);

  const Config& config() const { return config_; }
  const std::string& folder() const { return folder_; }
  /// Whether the output layer begins as a copy of the embedding, with which it shared its weights.
  bool copies_embedding() const { return copies_embedding_; }
  /// The elements of a whole tensor, in our layout: [rows, columns]. Reads the file.
  Result<std::vector<float>> read(const Tensor& tensor) const;
  /// Of all elements, in our layout: XXH3 over the checksums of all tensors. Reads the file.
  Result<uint64_t> checksum() const;
  /// Writes the elements [begin, end) of a unit's array, or of its slice, to `values` (end - begin floats),
  /// as initialise() does. Reads the file.
  Status fill(const ParameterTable& table, Index begin, Index end, float* values) const;

 private:
  ImportedModel(std::string folder, Config config, bool copies_embedding, SafetensorsFiles files)
      : folder_(std::move(folder)),
        config_(std::move(config)),
        copies_embedding_(copies_embedding),
        files_(std::move(files)) {}
  Status check() const;
  std::string name_in_file(const std::string& name) const;

  std::string folder_;
  Config config_;
  bool copies_embedding_;
  SafetensorsFiles files_;
};

}  // namespace weir::trainer
