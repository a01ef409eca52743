// SPDX-License-Identifier: Apache-2.0
/// The library of translated kernels of a test program, which defines it. Tests: tests/gpu/ptx/lanes_test.cc
#pragma once

#include "tests/gpu/ptx/library.h"

namespace weir::exec::gpu {

const ptx::KernelLibrary& library();

}  // namespace weir::exec::gpu
