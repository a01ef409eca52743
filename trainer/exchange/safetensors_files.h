// SPDX-License-Identifier: Apache-2.0
/// The tensors of a model in one file in the format safetensors, or in several with an index.
/// Tests: tests/trainer/exchange_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "trainer/exchange/safetensors_reader.h"

namespace weir::trainer {

/// Open files. Movable; used by one thread at a time. Errors are those of SafetensorsReader.
class SafetensorsFiles {
 public:
  /// Opens `model.safetensors` of the folder or, where there is none, the files that
  /// `model.safetensors.index.json` names in its `weight_map`, as Hugging Face's save_pretrained writes them.
  static Result<SafetensorsFiles> open(const std::string& folder);

  bool has(const std::string& name) const;
  /// As those of SafetensorsReader, of the file that has the tensor.
  Status check(const std::string& name, const std::vector<uint64_t>& shape) const;
  Result<std::vector<float>> read(const std::string& name, const std::vector<uint64_t>& shape) const;

 private:
  SafetensorsFiles() = default;
  Status open_index(const std::string& folder, const std::string& path);

  std::vector<SafetensorsReader> files_;
  std::string index_;                    ///< path; empty: there is one file
  std::map<std::string, size_t> homes_;  ///< of tensors by the index: in which of `files_` they are
};

}  // namespace weir::trainer
