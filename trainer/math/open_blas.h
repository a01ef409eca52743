// SPDX-License-Identifier: Apache-2.0
/// Products of fp32 through OpenBLAS, for processors without AVX-512: oneDNN 2.6 has two kinds of kernels
/// there, of which neither packs all operands, and reaches half of OpenBLAS's rate where rows are 4 KiB apart
/// (docs/lab/trainer.md).
/// Thread safety: any thread.
/// Tests: tests/trainer/math_test.cc
#pragma once

#include <string>

#include "trainer/math/products.h"

namespace weir::trainer::open_blas {

/// Whether OpenBLAS has kernels for vectors of this processor. It takes processors that are newer than itself
/// for very old ones.
bool knows_processor();

/// Whether its interface can express the product.
bool can_run(const ProductShape& shape);

/// As Products::run. REQUIRES: can_run(shape).
void run(const ProductShape& shape, const float* a, const float* b, float* c);

/// For all products of the process from now on.
void use_threads(int count);

/// "OpenBLAS 0.3.21 for Zen".
std::string code();

}  // namespace weir::trainer::open_blas
