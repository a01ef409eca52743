/// The parameters of one unit: one flat array of floats and the table of the tensors in it. The table says
/// where things lie; the array is the caller's, whole or any part of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/math/lanes.h"
#include "trainer/math/rows.h"

namespace weir::trainer {

struct Tensor {
  std::string name;  ///< "block3.attention.weight"
  Index rows = 1;
  Index columns = 0;
  Index offset = 0;     ///< in the unit's array, a multiple of 16 floats
  float deviation = 0;  ///< of its normal initial values
  float mean = 0;       ///< of its initial values
  uint32_t stream = 0;  ///< of its random numbers, its own within the model

  Index size() const { return rows * columns; }
  /// Matrices decay; gains and biases do not.
  bool decays() const { return rows > 1; }
};

class ParameterTable {
 public:
  /// `stream` is that of the unit's first tensor.
  explicit ParameterTable(uint32_t stream) : next_stream_(stream) {}

  /// Appends a tensor. Returns its offset.
  Index add_matrix(std::string name, Index rows, Index columns, float deviation);
  Index add_vector(std::string name, Index columns, float value);

  const std::vector<Tensor>& tensors() const { return tensors_; }
  /// Floats of the whole array, a multiple of 16: what lies between tensors is zero and stays zero.
  Index size() const { return size_; }

 private:
  Index add(Tensor tensor);

  std::vector<Tensor> tensors_;
  Index size_ = 0;
  uint32_t next_stream_;
};

/// Writes the initial values of the elements [begin, end) of the unit's array to `values` (of end - begin
/// floats). They depend on the seed and their place in their tensor alone, not on how an array is cut.
void initialise(const ParameterTable& table, uint64_t seed, Index begin, Index end, float* values);

/// One step of AdamW on the elements [begin, end) of a unit, the arrays of which hold just these.
/// `settings.weight_decay` is applied to the tensors that decay.
void optimise(const ParameterTable& table, const AdamW& settings, Index begin, Index end, float* values,
              const float* gradients, float* mean, float* variance);

}  // namespace weir::trainer
