// SPDX-License-Identifier: Apache-2.0
/// The parameters of one unit: one flat array of floats and the table of the tensors in it. The table says
/// where things lie; the array is the caller's, whole or any part of it.
///
/// Where ranks share the work of a unit (tensor parallelism), each has a slice of it: some rows of some
/// tensors, and copies of the others. Its table is then that of the slice, and says where that lies in the
/// whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/math/lanes.h"
#include "trainer/math/ops.h"

namespace weir::trainer {

/// Which of `count` equal slices of the units a rank has.
struct Slice {
  int index = 0;
  int count = 1;

  bool operator==(const Slice&) const = default;
};

/// The standard deviation of initial weights, as GPT-2 has it.
inline constexpr float kInitialDeviation = 0.02f;

/// A tensor, or the slice of it that the table is of.
struct Tensor {
  std::string name;  ///< "block3.attention.weight"
  Index rows = 1;
  Index columns = 0;
  Index offset = 0;        ///< in the unit's array, a multiple of 16 floats
  Index whole_offset = 0;  ///< in that of the whole unit
  Index parts = 1;         ///< equal stretches, of each of which a slice has its share
  Slice slice = {};        ///< of one: all of the tensor
  float deviation = 0;     ///< of its normal initial values
  float mean = 0;          ///< of its initial values
  uint32_t stream = 0;     ///< of its random numbers, its own within the model

  Index size() const { return rows * columns; }
  /// Elements that lie in a row in the whole tensor as well.
  Index stretch() const { return size() / parts; }
  /// Where an element is in the whole tensor.
  Index in_whole(Index element) const {
    return (element / stretch() * slice.count + slice.index) * stretch() + element % stretch();
  }
  /// Matrices decay; gains and biases do not.
  bool decays() const { return deviation > 0; }
};

/// Elements that lie in a row, here and in the whole unit.
struct Stretch {
  Index first = 0;  ///< in the unit's array
  Index whole = 0;  ///< in that of the whole unit
  Index count = 0;
  bool copied = false;  ///< every other slice has the same
};

class ParameterTable {
 public:
  /// `stream` is that of the unit's first tensor.
  explicit ParameterTable(uint32_t stream, Slice slice = {}) : slice_(slice), next_stream_(stream) {}

  /// Append a tensor that all slices have.
  void add_matrix(std::string name, Index rows, Index columns, float deviation);
  void add_vector(std::string name, Index columns, float value);
  /// Append this slice of a tensor: of each of `parts` equal stretches of rows (of elements, of a vector) its
  /// share. REQUIRES: there are equal shares.
  void add_rows(std::string name, Index rows, Index columns, float deviation, Index parts = 1);
  void add_elements(std::string name, Index columns, float value, Index parts = 1);

  const std::vector<Tensor>& tensors() const { return tensors_; }
  /// Floats of the array, a multiple of 16: what lies between tensors is zero and stays zero.
  Index size() const { return size_; }
  /// Floats of the whole unit's array.
  Index whole_size() const { return whole_size_; }
  /// All of the array but what lies between the tensors of a slice, in order. Of a whole unit it is one.
  std::vector<Stretch> stretches() const;

 private:
  void add(Tensor tensor);

  std::vector<Tensor> tensors_;
  Slice slice_;
  Index size_ = 0;
  Index whole_size_ = 0;
  uint32_t next_stream_;
};

/// Writes the initial values of the elements [begin, end) of the unit's array to `values` (of end - begin
/// floats). They depend on the seed and their place in their whole tensor alone, not on how arrays are cut.
void initialise(const ParameterTable& table, uint64_t seed, Index begin, Index end, float* values);

/// One step of AdamW on the elements [begin, end) of a unit, the arrays of which hold just these.
/// `settings.weight_decay` is applied to the tensors that decay.
void optimise(Ops& ops, const ParameterTable& table, const AdamW& settings, Index begin, Index end,
              float* values, const float* gradients, float* mean, float* variance);

}  // namespace weir::trainer
