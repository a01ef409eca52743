// SPDX-License-Identifier: Apache-2.0
/// Matrix products, through oneDNN; where it has no AVX-512 to use, single products of fp32 through OpenBLAS.
///
/// A product is defined by shape and layout alone, so that the same shape always runs the same code: on one
/// processor and one release of both, with one number of threads, the same numbers give the same bits. Only
/// Unit::forward and Unit::backward (trainer/model/unit.h) decide how many sequences one product covers.
#pragma once

#include <memory>
#include <string>

#include "src/base/status.h"
#include "trainer/math/lanes.h"

namespace weir::trainer {

/// The operand type of products; sums and results are always fp32.
enum class Precision { fp32, bf16 };

/// `count` products C = op(A) op(B), with op(A) of `rows` x `depth` and op(B) of `depth` x `columns`. The
/// matrices are dense and row-major, and consecutive unless there are strides; of a transposed operand the
/// transpose is stored.
struct ProductShape {
  Index count = 1;
  Index rows = 0;
  Index depth = 0;
  Index columns = 0;
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;  ///< add to C instead of replacing it
  /// Floats from the beginning of one matrix of A, B or C to that of the next; 0: they are consecutive.
  Index stride_a = 0;
  Index stride_b = 0;
  Index stride_c = 0;

  Index step_a() const { return stride_a > 0 ? stride_a : rows * depth; }
  Index step_b() const { return stride_b > 0 ? stride_b : depth * columns; }
  Index step_c() const { return stride_c > 0 ? stride_c : rows * columns; }
  /// Floats from the first element of all matrices to the last one.
  Index span_a() const { return count > 0 ? (count - 1) * step_a() + rows * depth : 0; }
  Index span_b() const { return count > 0 ? (count - 1) * step_b() + depth * columns : 0; }

  auto operator<=>(const ProductShape&) const = default;
};

/// Runs products and caches oneDNN's primitives per shape. Used by one thread at a time; objects are
/// independent.
class Products {
 public:
  explicit Products(Precision precision);
  ~Products();
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  /// C is complete on return. After an error it does nothing; see status().
  void run(const ProductShape& shape, const float* a, const float* b, float* c);

  /// The first error of all calls of run(), kept so that the callers' arithmetic stays readable; to be
  /// checked once per step.
  const Status& status() const;

  /// For bf16: whether the processor multiplies it. If not, operands are rounded to bf16 and multiplied in
  /// fp32.
  bool native() const;

  Precision precision() const;

  /// Number of products run, and of distinct shapes among them.
  Index runs() const;
  Index shapes() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// Sets the number of threads for products of the calling thread. REQUIRES: at least 1.
void use_threads(int count);

/// The code that computes products: "oneDNN 2.6.3 for avx512_core_bf16", or "oneDNN 2.6.3 for avx2 with
/// OpenBLAS 0.3.21 for Zen". Other code gives other bits.
std::string products_code();

/// The highest rate measured for products of square matrices, in FLOP/s, including the conversion of operands
/// that training needs as well: five products each of 256, 512 and 1024 rows, until one takes a millisecond.
double measured_peak(Products& products);

}  // namespace weir::trainer
