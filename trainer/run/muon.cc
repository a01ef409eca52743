// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/muon.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "trainer/math/orthogonalise.h"
#include "trainer/shard/calls.h"

namespace weir::trainer {
namespace {

constexpr float kMomentum = 0.95f;
constexpr float kRootMeanSquare = 0.2f;  ///< of an update's elements, about as AdamW's

}  // namespace

bool is_block(const Model& model, size_t unit) { return unit > 0 && unit + 1 < model.units().size(); }

std::vector<UnitMatrix> matrices_of(const Model& model, const parallel::UnitRange& units) {
  std::vector<UnitMatrix> matrices;
  for (size_t at = units.first; at < units.end; ++at) {
    if (!is_block(model, at)) continue;
    for (const Tensor& tensor : model.units()[at]->parameters().tensors())
      for (Index part = 0; tensor.decays() && part < tensor.parts; ++part)
        matrices.push_back({static_cast<int>(at - units.first), tensor.offset + part * tensor.stretch(),
                            tensor.rows / tensor.parts, tensor.columns});
  }
  return matrices;
}

Index Muon::floats(std::span<const UnitMatrix> matrices) {
  Index whole = 0, scratch = 0;
  for (const UnitMatrix& matrix : matrices) {
    whole = std::max(whole, matrix.size());
    scratch = std::max(scratch, orthogonalise_scratch(matrix.rows, matrix.columns));
  }
  return whole + scratch;
}

Muon::Muon(ncclComm_t world, shard::ShardEngine& engine, std::vector<UnitMatrix> matrices)
    : world_(world), engine_(engine), matrices_(std::move(matrices)), products_(Precision::fp32) {
  std::ranges::stable_sort(matrices_, std::ranges::greater(), &UnitMatrix::size);
  const shard::Place& place = engine_.places().front();
  for (const shard::Unit& unit : engine_.units())
    cuts_.emplace_back(unit.parameters, place.shards, place.replicas);
  const Index whole = matrices_.empty() ? 0 : matrices_.front().size();
  whole_ = Buffer(whole);
  scratch_ = Buffer(floats(matrices_) - whole);
}

/// The elements of the unit that are in the range and the matrix.
shard::Range Muon::common(const shard::Range& range, const UnitMatrix& matrix) const {
  const auto first = static_cast<size_t>(matrix.first), end = first + static_cast<size_t>(matrix.size());
  const size_t begin = std::max(range.first, first), stop = std::min(range.end(), end);
  return {begin, stop > begin ? stop - begin : 0};
}

float* Muon::gradients_of(const UnitMatrix& matrix, const shard::Range& range) {
  return engine_.gradient_shard(matrix.unit).data() + (range.first - engine_.shard_range(matrix.unit).first);
}

/// Leaves Nesterov's momentum in the place of the gradients.
void Muon::add_momentum(const MuonStep& step, const UnitMatrix& matrix, std::span<float> momentum) {
  const shard::Range shard = engine_.shard_range(matrix.unit), own = common(shard, matrix);
  if (own.count == 0) return;
  float* const gradients = gradients_of(matrix, own);
  float* const kept = momentum.data() + (own.first - shard.first);
  for (size_t at = 0; at < own.count; ++at) {
    const float gradient = (1.0f - kMomentum) * (step.gradient_scale * gradients[at]);
    kept[at] = kMomentum * kept[at] + gradient;
    gradients[at] = kMomentum * kept[at] + gradient;
  }
}

void Muon::apply(const MuonStep& step, const UnitMatrix& matrix) {
  const shard::Range shard = engine_.shard_range(matrix.unit), own = common(shard, matrix);
  if (own.count == 0) return;
  const float* const update = gradients_of(matrix, own);
  float* const parameters = engine_.shard(matrix.unit).data() + (own.first - shard.first);
  const float kept = 1.0f - step.learning_rate * step.weight_decay;
  const float rate = step.learning_rate * kRootMeanSquare *
                     std::sqrt(static_cast<float>(std::max(matrix.rows, matrix.columns)));
  for (size_t at = 0; at < own.count; ++at) parameters[at] = kept * parameters[at] - rate * update[at];
}

/// Calls message(matrix, owner, rank) for each matrix of the round and each rank, in one group: it sends or
/// receives what one of the two is to have of the matrix.
template <typename Message>
Status Muon::exchange(std::span<const UnitMatrix> round, const Message& message) {
  WEIR_TRY(shard::checked(ncclGroupStart(), "exchanging matrices"));
  Status status;
  for (size_t owner = 0; owner < round.size() && status.ok(); ++owner)
    for (int rank = 0; rank < engine_.ranks() && status.ok(); ++rank)
      status = message(round[owner], static_cast<int>(owner), rank);
  const Status ended = shard::checked(ncclGroupEnd(), "exchanging matrices");
  return status.ok() ? ended : status;
}

/// Each element comes from the rank that has it in its piece.
Status Muon::collect(std::span<const UnitMatrix> round) {
  const int self = engine_.rank();
  return exchange(round, [&](const UnitMatrix& matrix, int owner, int rank) {
    const auto& places = engine_.places();
    const shard::Range part =
        common(cuts_[static_cast<size_t>(matrix.unit)].piece(places[static_cast<size_t>(rank)]), matrix);
    if (part.count == 0 || (rank != self && owner != self)) return Status();
    float* const there = whole_.data() + (part.first - static_cast<size_t>(matrix.first));
    if (rank == owner) {
      std::copy_n(gradients_of(matrix, part), part.count, there);
      return Status();
    }
    bytes_ += part.count * sizeof(float);
    return shard::checked(
        rank == self ? ncclSend(gradients_of(matrix, part), part.count, ncclFloat, owner, world_, nullptr)
                     : ncclRecv(there, part.count, ncclFloat, rank, world_, nullptr),
        "collecting matrices");
  });
}

/// Each rank gets the elements of its shard.
Status Muon::distribute(std::span<const UnitMatrix> round) {
  const int self = engine_.rank();
  return exchange(round, [&](const UnitMatrix& matrix, int owner, int rank) {
    const auto& places = engine_.places();
    const shard::Range part = common(
        cuts_[static_cast<size_t>(matrix.unit)].shard(places[static_cast<size_t>(rank)].shard), matrix);
    if (part.count == 0 || (rank != self && owner != self)) return Status();
    const float* const here = whole_.data() + (part.first - static_cast<size_t>(matrix.first));
    if (rank == owner) {
      std::copy_n(here, part.count, gradients_of(matrix, part));
      return Status();
    }
    bytes_ += part.count * sizeof(float);
    return shard::checked(
        rank == self ? ncclRecv(gradients_of(matrix, part), part.count, ncclFloat, owner, world_, nullptr)
                     : ncclSend(here, part.count, ncclFloat, rank, world_, nullptr),
        "distributing matrices");
  });
}

Status Muon::step(const MuonStep& step, std::span<const std::span<float>> momentum) {
  const auto ranks = static_cast<size_t>(engine_.ranks()), self = static_cast<size_t>(engine_.rank());
  for (const UnitMatrix& matrix : matrices_)
    add_momentum(step, matrix, momentum[static_cast<size_t>(matrix.unit)]);
  for (size_t first = 0; first < matrices_.size(); first += ranks) {
    const auto round =
        std::span<const UnitMatrix>(matrices_).subspan(first, std::min(ranks, matrices_.size() - first));
    WEIR_TRY(collect(round));
    if (self < round.size())
      orthogonalise(products_, round[self].rows, round[self].columns, whole_.data(), scratch_.data());
    WEIR_TRY(products_.status());
    WEIR_TRY(distribute(round));
  }
  for (const UnitMatrix& matrix : matrices_) apply(step, matrix);
  return {};
}

}  // namespace weir::trainer
