// SPDX-License-Identifier: Apache-2.0
/// Reads tensors from a file in the format safetensors.
/// Tests: tests/trainer/safetensors_test.cc
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "trainer/exchange/safetensors_header.h"

namespace weir::trainer {

/// An open file. Movable; used by one thread at a time. Errors begin with the path: system_error if it cannot
/// be read, invalid_argument if it is damaged or has something else than expected.
class SafetensorsReader {
 public:
  /// Reads the header.
  static Result<SafetensorsReader> open(const std::string& path);

  const std::vector<TensorEntry>& tensors() const { return tensors_; }
  bool has(const std::string& name) const { return find(name) != nullptr; }
  /// Success if there is such a tensor of this shape, whose elements are real numbers (F32, F64, F16, BF16).
  Status check(const std::string& name, const std::vector<uint64_t>& shape) const;
  /// Its elements as floats, row-major; those of F64 are rounded. Errors also as of check().
  Result<std::vector<float>> read(const std::string& name, const std::vector<uint64_t>& shape) const;

 private:
  struct Close {
    void operator()(FILE* file) const { std::fclose(file); }
  };

  explicit SafetensorsReader(std::string path) : path_(std::move(path)) {}
  Status read_header();
  Status read_bytes(uint64_t from, uint64_t count, void* bytes) const;
  Status wrong(const std::string& sentence) const;
  const TensorEntry* find(const std::string& name) const;

  std::string path_;
  std::unique_ptr<FILE, Close> file_;
  uint64_t data_ = 0;  ///< position in the file of the first byte after the header
  std::vector<TensorEntry> tensors_;
};

}  // namespace weir::trainer
