/// Where a unit's backward pass leaves the gradients of its parameters: two ways to add up those of its
/// pieces.
#pragma once

#include "trainer/math/tree.h"

namespace weir::trainer {

class Gradients {
 public:
  virtual ~Gradients() = default;
  /// The array to which the next piece's gradients are added, of the size of the unit's parameters.
  virtual float* open() = 0;
  /// That piece is done; it began with sequence `first` of the global batch.
  virtual void close(Index first) = 0;
};

/// All pieces are added to one array of the caller's as they come.
class PlainGradients final : public Gradients {
 public:
  explicit PlainGradients(float* sum) : sum_(sum) {}
  float* open() override { return sum_; }
  void close(Index /*first*/) override {}

 private:
  float* sum_;
};

/// Each piece, which must be one sequence, is a leaf of a tree over the sequences of the global batch: the
/// bits of the sum do not depend on micro-batches or ranks.
class TreeGradients final : public Gradients {
 public:
  /// Does not own `sum`.
  explicit TreeGradients(TreeSum& sum) : sum_(sum) {}
  float* open() override { return sum_.open(); }
  void close(Index first) override { sum_.close(first); }

 private:
  TreeSum& sum_;
};

}  // namespace weir::trainer
