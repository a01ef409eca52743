// SPDX-License-Identifier: Apache-2.0
/// The definitions of reduce.h as simple loops over one element at a time: the specification. The vector
/// paths and other devices are tested against it, and processors without a vector path use it.
/// Tests: tests/device/reduce_scalar_test.cc
#pragma once

#include "src/device/reduce.h"

namespace weir::device::scalar {

/// As the functions of the same names in weir::device.
void fold(DataType type, RedOp op, void* dst, const void* const* src, int sources, size_t count);
void scale(DataType type, void* dst, const void* src, Scalar factor, size_t count);
void divide(DataType type, void* dst, int64_t divisor, size_t count);

}  // namespace weir::device::scalar
