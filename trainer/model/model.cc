// SPDX-License-Identifier: Apache-2.0

#include "trainer/model/model.h"

#include <algorithm>
#include <utility>

#include "trainer/model/block_unit.h"
#include "trainer/model/carver.h"
#include "trainer/model/embedding_unit.h"
#include "trainer/model/llama_block_unit.h"

namespace weir::trainer {
namespace {

// More than any unit's number of tensors, so that each tensor has its own stream of random numbers.
constexpr uint32_t kStreamsPerUnit = 64;

}  // namespace

Model::Model(Config config, Recompute recompute, Slice slice) : config_(std::move(config)), slice_(slice) {
  uint32_t stream = 0;
  const auto next_stream = [&] { return std::exchange(stream, stream + kStreamsPerUnit); };
  units_.push_back(std::make_unique<EmbeddingUnit>(config_, next_stream(), slice_));
  for (Index layer = 0; layer < config_.layers; ++layer) {
    if (config_.form == Form::llama)
      units_.push_back(std::make_unique<LlamaBlockUnit>(config_, layer, recompute, next_stream(), slice_));
    else
      units_.push_back(std::make_unique<BlockUnit>(config_, layer, recompute, next_stream(), slice_));
  }
  auto head = std::make_unique<HeadUnit>(config_, recompute, next_stream(), slice_);
  head_ = head.get();
  units_.push_back(std::move(head));
}

Index Model::parameter_floats() const {
  Index floats = 0;
  for (const auto& unit : units_) floats += unit->parameters().whole_size();
  return floats;
}

/// One multiply-add per parameter of a product, and attention's two products of [length, width]; the
/// embedding only adds.
std::vector<double> Model::unit_costs() const {
  std::vector<double> costs;
  for (const auto& unit : units_) costs.push_back(static_cast<double>(unit->parameters().whole_size()));
  for (size_t at = 1; at + 1 < costs.size(); ++at)
    costs[at] += 2.0 * static_cast<double>(config_.length * config_.width);
  costs.front() = static_cast<double>(config_.width);
  if (config_.tied) costs.back() += static_cast<double>(table_floats());
  return costs;
}

Index Model::scratch_floats(const Batch& batch) const {
  Index floats = 0;
  for (const auto& unit : units_) floats = std::max(floats, unit->scratch_floats(batch));
  return floats;
}

namespace {

/// Where arrays begin after the table: at its end, and after the normal rows.
struct TiedOffsets {
  Index normal, logits, end;
};

TiedOffsets tied_offsets(const Config& config, const Batch& batch) {
  Carver carver(nullptr);
  carver.take(config.vocabulary * config.width);
  const Index normal = carver.used();
  carver.take(batch.rows() * config.width);
  const Index logits = carver.used();
  carver.take(batch.rows() * config.vocabulary);
  return {normal, logits, carver.used()};
}

}  // namespace

Index Model::tied_floats(const Batch& batch) const {
  return config_.tied ? tied_offsets(config_, batch).end : 0;
}

Tied Model::tied_in(float* array, const Batch& batch) const {
  if (!config_.tied) return {};
  const TiedOffsets offsets = tied_offsets(config_, batch);
  return {config_.width, config_.vocabulary, array, array + offsets.normal, array + offsets.logits};
}

}  // namespace weir::trainer
