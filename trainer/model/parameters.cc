#include "trainer/model/parameters.h"

#include <algorithm>
#include <utility>

#include "trainer/math/philox.h"

namespace weir::trainer {
namespace {

// Calls visit(tensor, first element, end) with the part of each tensor that lies in [begin, end) of the
// array.
template <typename Visit>
void for_each_part(const ParameterTable& table, Index begin, Index end, Visit visit) {
  for (const Tensor& tensor : table.tensors()) {
    const Index first = std::max(begin, tensor.offset);
    const Index last = std::min(end, tensor.offset + tensor.size());
    if (first < last) visit(tensor, first, last);
  }
}

}  // namespace

Index ParameterTable::add(Tensor tensor) {
  tensor.offset = size_;
  tensor.stream = next_stream_++;
  size_ += (tensor.size() + kLanes - 1) / kLanes * kLanes;
  tensors_.push_back(std::move(tensor));
  return tensors_.back().offset;
}

Index ParameterTable::add_matrix(std::string name, Index rows, Index columns, float deviation) {
  return add({.name = std::move(name), .rows = rows, .columns = columns, .deviation = deviation});
}

Index ParameterTable::add_vector(std::string name, Index columns, float value) {
  return add({.name = std::move(name), .columns = columns, .mean = value});
}

void initialise(const ParameterTable& table, uint64_t seed, Index begin, Index end, float* values) {
  std::fill(values, values + (end - begin), 0.0f);
  for_each_part(table, begin, end, [&](const Tensor& tensor, Index first, Index last) {
    if (tensor.deviation == 0.0f) {
      std::fill(values + (first - begin), values + (last - begin), tensor.mean);
      return;
    }
    for (Index at = first; at < last;) {
      const Index element = at - tensor.offset;
      const auto normals = to_normals(
          random_block(seed, Purpose::initialise, tensor.stream, static_cast<uint64_t>(element / 4)));
      for (Index part = element % 4; part < 4 && at < last; ++part, ++at)
        values[at - begin] = tensor.mean + tensor.deviation * normals[static_cast<size_t>(part)];
    }
  });
}

void optimise(const ParameterTable& table, const AdamW& settings, Index begin, Index end, float* values,
              const float* gradients, float* mean, float* variance) {
  for_each_part(table, begin, end, [&](const Tensor& tensor, Index first, Index last) {
    AdamW own = settings;
    if (!tensor.decays()) own.weight_decay = 0.0f;
    const Index at = first - begin;
    adamw_step(own, last - first, values + at, gradients + at, mean + at, variance + at);
  });
}

}  // namespace weir::trainer
