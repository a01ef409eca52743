// SPDX-License-Identifier: Apache-2.0
/// Writes a file of tensors in the format safetensors.
/// Tests: tests/trainer/safetensors_test.cc
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "trainer/exchange/safetensors_header.h"

namespace weir::trainer {

/// A file that is being written; it has its name only when it is complete, so that an older one of this name
/// stays until then. Movable; used by one thread at a time. Errors: system_error with the path.
class SafetensorsWriter {
 public:
  /// Begins a file with these tensors of type F32, in this order; of the entries, names and shapes count.
  static Result<SafetensorsWriter> create(const std::string& path, std::vector<TensorEntry> tensors);

  SafetensorsWriter(SafetensorsWriter&&) = default;
  SafetensorsWriter& operator=(SafetensorsWriter&&) = delete;
  /// Removes what was written if finish() was not called.
  ~SafetensorsWriter();

  /// Adds elements. REQUIRES: all calls together have the elements of all tensors, in order.
  Status write(std::span<const float> elements);
  /// The file is on disk when the call returns.
  Status finish();

 private:
  struct Close {
    void operator()(FILE* file) const { std::fclose(file); }
  };

  explicit SafetensorsWriter(std::string path) : path_(std::move(path)) {}
  Status failed() const;
  std::string temporary() const { return path_ + ".tmp"; }

  std::string path_;
  std::unique_ptr<FILE, Close> file_;
};

}  // namespace weir::trainer
