// SPDX-License-Identifier: Apache-2.0
/// The header of a file of tensors in the format safetensors (https://huggingface.co/docs/safetensors): 8
/// bytes with the length of the header, little-endian; the header, a JSON object with an entry per tensor;
/// and the tensors' elements, row-major and little-endian. Pure.
/// Tests: tests/trainer/safetensors_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace weir::trainer {

/// The longest header that is read, in bytes, as in the format's own library.
inline constexpr uint64_t kLongestHeader = 100'000'000;

struct TensorEntry {
  std::string name;
  std::string type;             ///< "F32", as the format calls it
  std::vector<uint64_t> shape;  ///< empty: one element
  uint64_t first = 0;           ///< first byte, counted from the end of the header
  uint64_t bytes = 0;

  uint64_t elements() const;
};

/// "[2, 3]".
std::string shape_words(const std::vector<uint64_t>& shape);

/// The tensors, in the order of their bytes. `data_bytes`: number of bytes after the header. Strict: every
/// byte belongs to exactly one tensor, and types are known. Errors: invalid_argument that names the tensor,
/// what was expected and what was there.
Result<std::vector<TensorEntry>> parse_safetensors_header(std::string_view header, uint64_t data_bytes);

/// The beginning of a file with these tensors of type F32 in this order: length and header. The numbers of
/// the first bytes are filled in from the shapes.
std::string safetensors_beginning(const std::vector<TensorEntry>& tensors);

}  // namespace weir::trainer
