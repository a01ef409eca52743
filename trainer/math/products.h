// SPDX-License-Identifier: Apache-2.0
/// Matrix products, through oneDNN.
///
/// A product is given by shape and layout alone, so that the same shape always runs the same code: on one
/// processor and one release of oneDNN, with one number of threads, the same numbers give the same bits. How
/// many sequences one product covers is decided in one place, Unit::forward and Unit::backward
/// (trainer/model/unit.h).
#pragma once

#include <memory>
#include <string>

#include "trainer/math/lanes.h"
#include "weir/status.h"

namespace weir::trainer {

/// What products read; they always add in fp32 and write fp32.
enum class Precision { fp32, bf16 };

/// `count` products C = op(A) op(B), with op(A) of `rows` x `depth` and op(B) of `depth` x `columns`. The
/// arrays are dense, row-major, one matrix after the other; a transposed operand is stored as columns of its
/// op.
struct ProductShape {
  Index count = 1;
  Index rows = 0;
  Index depth = 0;
  Index columns = 0;
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;  ///< C += instead of C =

  auto operator<=>(const ProductShape&) const = default;
};

/// Runs products and keeps what oneDNN prepares per shape. For one thread at a time; several objects are
/// independent.
class Products {
 public:
  explicit Products(Precision precision);
  ~Products();
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  /// Waits for nothing: C is complete on return. After an error it does nothing; see status().
  void run(const ProductShape& shape, const float* a, const float* b, float* c);

  /// The first error of all calls of run(), kept so that the callers' arithmetic stays readable; ask once per
  /// step.
  const Status& status() const;

  /// Of bf16: whether the processor multiplies it. Where not, operands are rounded to bf16 and multiplied in
  /// fp32.
  bool native() const;

  Precision precision() const;

  /// Number of products run so far, and of distinct shapes among them.
  Index runs() const;
  Index shapes() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// The number of threads of the calling thread's products. REQUIRES: at least 1.
void use_threads(int count);

/// The release of oneDNN, for logs: "2.6.3".
std::string products_version();

/// The highest rate seen in some products of square matrices, in floating-point operations per second, with
/// the conversion of operands that training pays as well: five each of 256, 512 and 1024 rows, until one
/// takes a millisecond.
double measured_peak(Products& products);

}  // namespace weir::trainer
