// SPDX-License-Identifier: Apache-2.0
/// The vector kernels behind reduce.h: one table per instruction set, filled from the same source.
///
/// A kernel takes sizes in bytes. Any alignment and any whole number of elements are allowed; dst may equal a
/// source exactly. Results equal those of reduce_scalar.h bit for bit.
/// Tests: tests/device/reduce_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "src/base/types.h"
#include "src/device/reduce.h"

namespace weir::device {

using FoldKernel = void (*)(uint8_t* dst, const uint8_t* const* src, int sources, size_t bytes);
using StreamKernel = void (*)(uint8_t* const* dst, int destinations, const uint8_t* const* src, int sources,
                              size_t bytes);
using ScaleKernel = void (*)(uint8_t* dst, const uint8_t* src, Scalar factor, size_t bytes);
using CopyKernel = void (*)(uint8_t* dst, const uint8_t* src, size_t bytes);

struct FoldKernels {
  FoldKernel pair = nullptr;         ///< kernel for exactly two sources
  FoldKernel many = nullptr;         ///< kernel for two or more sources
  StreamKernel streaming = nullptr;  ///< like `many`, with non-temporal stores; no dst may be a source
};

struct Kernels {
  std::string_view name;  ///< name of the instruction set
  FoldKernels fold[kDataTypes][4];
  ScaleKernel scale[kDataTypes] = {};
  CopyKernel streaming_copy = nullptr;

  FoldKernels& at(DataType type, RedOp op) { return fold[static_cast<int>(type)][static_cast<int>(op)]; }
  const FoldKernels& at(DataType type, RedOp op) const {
    return fold[static_cast<int>(type)][static_cast<int>(op)];
  }
};

/// One table for each instruction set that this processor has and weir supports, best first. The last table
/// contains the scalar definitions, which also replace kernels that an instruction set lacks. Every pointer
/// is set. The tables are never destroyed.
std::span<const Kernels> supported_kernels();

}  // namespace weir::device
