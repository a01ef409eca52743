// SPDX-License-Identifier: Apache-2.0
/// The parameters of one unit: one flat array of floats and the table of the tensors in it. The table defines
/// the layout; the caller owns the array, or any part of it.
///
/// If ranks share the work of a unit (tensor parallelism), each has a slice of it: some rows of some tensors,
/// and copies of the others. The table then describes the slice, and where it lies in the whole unit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/math/lanes.h"
#include "trainer/math/ops.h"

namespace weir::trainer {

/// The slice that a rank has, of `count` equal slices of the units.
struct Slice {
  int index = 0;
  int count = 1;

  bool operator==(const Slice&) const = default;
};

/// Standard deviation of initial weights, as in GPT-2.
inline constexpr float kInitialDeviation = 0.02f;

/// A tensor, or the slice of it that the table describes.
struct Tensor {
  std::string name;  ///< "block3.attention.weight"
  Index rows = 1;
  Index columns = 0;
  Index offset = 0;        ///< first element in the unit's array, a multiple of 16 floats
  Index whole_offset = 0;  ///< first element in the whole unit's array
  Index parts = 1;         ///< number of equal stretches; a slice has its share of each
  Slice slice = {};        ///< the slice that this is; 1 slice: the whole tensor
  float deviation = 0;     ///< standard deviation of its initial values
  float mean = 0;          ///< mean of its initial values
  uint32_t stream = 0;     ///< number of its random stream, unique within the model

  Index size() const { return rows * columns; }
  /// Number of elements that are contiguous in the whole tensor as well.
  Index stretch() const { return size() / parts; }
  /// Position of an element in the whole tensor.
  Index in_whole(Index element) const {
    return (element / stretch() * slice.count + slice.index) * stretch() + element % stretch();
  }
  /// Weight decay applies to matrices, not to gains and biases.
  bool decays() const { return deviation > 0; }
};

/// Elements that are contiguous both here and in the whole unit.
struct ContiguousRange {
  Index first = 0;  ///< first element in the unit's array
  Index whole = 0;  ///< first element in the whole unit's array
  Index count = 0;
  bool copied = false;  ///< whether every other slice has the same elements
};

class ParameterTable {
 public:
  /// `stream` is the random stream of the unit's first tensor.
  explicit ParameterTable(uint32_t stream, Slice slice = {}) : slice_(slice), next_stream_(stream) {}

  /// Appends a tensor that all slices have.
  void add_matrix(std::string name, Index rows, Index columns, float deviation);
  void add_vector(std::string name, Index columns, float value);
  /// Appends this slice of a tensor: its share of each of `parts` equal stretches of rows (for a vector, of
  /// elements). REQUIRES: the shares are equal.
  void add_rows(std::string name, Index rows, Index columns, float deviation, Index parts = 1);
  void add_elements(std::string name, Index columns, float value, Index parts = 1);

  const std::vector<Tensor>& tensors() const { return tensors_; }
  /// Floats of the array, a multiple of 16: padding between tensors is zero and stays zero.
  Index size() const { return size_; }
  /// Floats of the whole unit's array.
  Index whole_size() const { return whole_size_; }
  /// The stretches of the array without the padding between a slice's tensors, in order. A whole unit is one
  /// stretch.
  std::vector<ContiguousRange> stretches() const;

 private:
  void add(Tensor tensor);

  std::vector<Tensor> tensors_;
  Slice slice_;
  Index size_ = 0;
  Index whole_size_ = 0;
  uint32_t next_stream_;
};

/// Writes the initial values of the elements [begin, end) of the unit's array to `values` (end - begin
/// floats). They depend only on the seed and the position in the whole tensor, not on how arrays are cut.
void initialise(const ParameterTable& table, uint64_t seed, Index begin, Index end, float* values);

/// Consecutive elements [first, end) of a unit's array.
struct ElementRange {
  Index first = 0;
  Index end = 0;
};
/// The elements in [begin, end) of tensors that do not decay, in order.
std::vector<ElementRange> vectors_in(const ParameterTable& table, Index begin, Index end);

/// One step of AdamW on the elements [begin, end) of a unit; the arrays hold only these.
/// `settings.weight_decay` is applied to the tensors that decay; with `vectors` these are left as they are,
/// and `variance` holds only the elements of vectors_in(), one after the other.
enum class Tensors { all, vectors };
void optimise(Ops& ops, const ParameterTable& table, const AdamW& settings, Index begin, Index end,
              float* values, const float* gradients, float* mean, float* variance,
              Tensors which = Tensors::all);

}  // namespace weir::trainer
