// SPDX-License-Identifier: Apache-2.0

#include "trainer/model/parameters.h"

#include <algorithm>
#include <utility>

#include "trainer/math/philox.h"

namespace weir::trainer {
namespace {

// Calls visit(tensor, first element, end) for the part of each tensor that lies in [begin, end) of the array.
template <typename Visit>
void for_each_part(const ParameterTable& table, Index begin, Index end, Visit visit) {
  for (const Tensor& tensor : table.tensors()) {
    const Index first = std::max(begin, tensor.offset);
    const Index last = std::min(end, tensor.offset + tensor.size());
    if (first < last) visit(tensor, first, last);
  }
}

}  // namespace

void ParameterTable::add(Tensor tensor) {
  const auto padded = [](Index floats) { return (floats + kLanes - 1) / kLanes * kLanes; };
  tensor.offset = size_;
  tensor.whole_offset = whole_size_;
  tensor.stream = next_stream_++;
  size_ += padded(tensor.size());
  whole_size_ += padded(tensor.size() * tensor.slice.count);
  tensors_.push_back(std::move(tensor));
}

void ParameterTable::add_matrix(std::string name, Index rows, Index columns, float deviation) {
  add({.name = std::move(name), .rows = rows, .columns = columns, .deviation = deviation});
}

void ParameterTable::add_vector(std::string name, Index columns, float value) {
  add({.name = std::move(name), .columns = columns, .mean = value});
}

void ParameterTable::add_rows(std::string name, Index rows, Index columns, float deviation, Index parts) {
  add({.name = std::move(name),
       .rows = rows / slice_.count,
       .columns = columns,
       .parts = parts,
       .slice = slice_,
       .deviation = deviation});
}

void ParameterTable::add_elements(std::string name, Index columns, float value, Index parts) {
  add({.name = std::move(name),
       .columns = columns / slice_.count,
       .parts = parts,
       .slice = slice_,
       .mean = value});
}

std::vector<ContiguousRange> ParameterTable::stretches() const {
  if (slice_.count == 1) return {{0, 0, size_, false}};
  std::vector<ContiguousRange> stretches;
  for (const Tensor& tensor : tensors_)
    for (Index first = 0; first < tensor.size(); first += tensor.stretch())
      stretches.push_back({tensor.offset + first, tensor.whole_offset + tensor.in_whole(first),
                           tensor.stretch(), tensor.slice.count == 1});
  return stretches;
}

void initialise(const ParameterTable& table, uint64_t seed, Index begin, Index end, float* values) {
  std::fill(values, values + (end - begin), 0.0f);
  for_each_part(table, begin, end, [&](const Tensor& tensor, Index first, Index last) {
    if (tensor.deviation == 0.0f) {
      std::fill(values + (first - begin), values + (last - begin), tensor.mean);
      return;
    }
    for (Index at = first; at < last;) {
      const Index element = tensor.in_whole(at - tensor.offset);
      const auto normals = to_normals(
          random_block(seed, Purpose::initialise, tensor.stream, static_cast<uint64_t>(element / 4)));
      const Index stretch_end = at + tensor.stretch() - (at - tensor.offset) % tensor.stretch();
      for (Index part = element % 4; part < 4 && at < std::min(last, stretch_end); ++part, ++at)
        values[at - begin] = tensor.mean + tensor.deviation * normals[static_cast<size_t>(part)];
    }
  });
}

std::vector<ElementRange> vectors_in(const ParameterTable& table, Index begin, Index end) {
  std::vector<ElementRange> stretches;
  for_each_part(table, begin, end, [&](const Tensor& tensor, Index first, Index last) {
    if (!tensor.decays()) stretches.push_back({first, last});
  });
  return stretches;
}

void optimise(Ops& ops, const ParameterTable& table, const AdamW& settings, Index begin, Index end,
              float* values, const float* gradients, float* mean, float* variance, Tensors which) {
  Index packed = 0;
  for_each_part(table, begin, end, [&](const Tensor& tensor, Index first, Index last) {
    if (tensor.decays() && which == Tensors::vectors) return;
    AdamW own = settings;
    if (!tensor.decays()) own.weight_decay = 0.0f;
    const Index at = first - begin;
    const Index of_variance = which == Tensors::vectors ? packed : at;
    ops.run(AdamWStep{own, last - first, values + at, gradients + at, mean + at, variance + of_variance});
    packed += last - first;
  });
}

}  // namespace weir::trainer
