// SPDX-License-Identifier: Apache-2.0
/// The orthogonal matrix that is nearest to a matrix, approximately: what Muon does to updates.
/// Tests: tests/trainer/orthogonalise_test.cc
#pragma once

#include "trainer/math/products.h"

namespace weir::trainer {

/// Floats of scratch memory for matrices of rows x columns.
Index orthogonalise_scratch(Index rows, Index columns);

/// Replaces X = U S V^T by U S' V^T with S' between 0.68 and 1.14: five steps of the Newton-Schulz iteration
/// X <- a X + (b A + c A A) X with A = X X^T, a = 3.4445, b = -4.7750, c = 2.0315, from X divided by its
/// Frobenius norm (plus 1e-7); a matrix with more rows than columns is transposed before (K. Jordan et al.,
/// "Muon: An optimizer for hidden layers in neural networks", 2024, who take bf16; here all is fp32).
/// Singular values that are below a thousandth of the norm are not raised as far. Same shape and values: same
/// bits. REQUIRES: products of fp32; `scratch` does not overlap `x`.
void orthogonalise(Products& products, Index rows, Index columns, float* x, float* scratch);

}  // namespace weir::trainer
