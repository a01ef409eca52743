// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/outer_optimizer.h"

#include <fmt/format.h>
#include <weir/quantized.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "trainer/shard/groups.h"

namespace weir::trainer {
namespace {

constexpr const char* kWhat = "averaging over groups";

int format_of(shard::Precision precision) {
  return precision == shard::Precision::bfloat16 ? weirQuantizedBfloat16 : shard::quantized_format(precision);
}

}  // namespace

size_t outer_bytes(const std::vector<size_t>& elements) {
  const size_t all = std::accumulate(elements.begin(), elements.end(), size_t{0});
  return 3 * all * sizeof(float);
}

Result<std::unique_ptr<OuterOptimizer>> OuterOptimizer::join(ncclComm_t world, const Settings& settings) {
  const auto places = shard::make_places(world, shard::Strategy::hybrid_shard, settings.sharding.shard_ranks);
  WEIR_TRY(places.status());
  int rank = 0;
  WEIR_TRY(shard::checked(ncclCommUserRank(world, &rank), kWhat));
  const shard::Place& place = (*places)[static_cast<size_t>(rank)];
  if (settings.batch % place.replicas != 0)
    return Status(Code::invalid_argument,
                  fmt::format("--batch {} with --local-steps: expected a multiple of the {} groups of ranks",
                              settings.batch, place.replicas));
  std::unique_ptr<OuterOptimizer> made(new OuterOptimizer(settings));
  made->group_ = place.replica;
  made->groups_ = place.replicas;
  auto ranks = shard::Communicator::split(world, place.replica, place.shard, "group");
  WEIR_TRY(ranks.status());
  made->ranks_ = std::move(*ranks);
  auto across = shard::Communicator::split(world, place.shard, place.replica, "groups");
  WEIR_TRY(across.status());
  made->across_ = std::move(*across);
  WEIR_TRY(made->make_queue(world, place));
  return made;
}

Status OuterOptimizer::make_queue(ncclComm_t world, const shard::Place& place) {
  auto across = shard::Communicator::split(world, place.shard, place.replica, "exchanges of groups");
  WEIR_TRY(across.status());
  auto begin = shard::Event::make(), end = shard::Event::make();
  WEIR_TRY(begin.status());
  WEIR_TRY(end.status());
  auto stream = shard::Stream::make();
  WEIR_TRY(stream.status());
  queue_.emplace(Queue{std::move(*across), std::move(*begin), std::move(*end), std::move(*stream)});
  return {};
}

Status OuterOptimizer::make_arrays(shard::ShardEngine& engine) {
  engine_ = &engine;
  const auto make = [](Array& array, Index count) {
    auto made = Array::make(count, nullptr);
    if (made.ok()) array = std::move(*made);
    return made.status();
  };
  for (size_t unit = 0; unit < engine.units().size(); ++unit) {
    const auto count = static_cast<Index>(engine.shard(static_cast<int>(unit)).size());
    Arrays& arrays = units_.emplace_back();
    WEIR_TRY(make(arrays.outer, count));
    WEIR_TRY(make(arrays.momentum, count));
    WEIR_TRY(make(arrays.difference, count));
  }
  return {};
}

void OuterOptimizer::begin() {
  for (size_t unit = 0; unit < units_.size(); ++unit) {
    Arrays& arrays = units_[unit];
    std::ranges::copy(engine_->shard(static_cast<int>(unit)), arrays.outer.data());
    std::fill_n(arrays.momentum.data(), arrays.momentum.size(), 0.0F);
  }
}

Status OuterOptimizer::send(Index step) {
  const auto fragment = fragments_.sent_after(step);
  return fragment ? exchange_fragment(*fragment, step) : Status();
}

Status OuterOptimizer::receive(Index step) {
  for (const size_t fragment : fragments_.merged_after(step))
    if (!was_sent(fragment)) WEIR_TRY(exchange_fragment(fragment, step));
  return settle();
}

Status OuterOptimizer::go_on(Index step, bool averaged) {
  const auto fragment = fragments_.in_flight_after(step);
  if (!fragment) return {};
  if (!averaged) return exchange_fragment(*fragment, step);
  sent_.push_back(*fragment);
  return {};
}

/// Queues the sums of a fragment's differences.
Status OuterOptimizer::exchange_fragment(size_t fragment, Index step) {
  if (queued_.empty()) WEIR_TRY(queue_->begin.record(queue_->stream));
  sent_.push_back(fragment);
  queued_.push_back(fragment);
  for (size_t unit = 0; unit < units_.size(); ++unit) {
    if (fragments_.of_unit(unit) != fragment) continue;
    const std::span<float> parameters = engine_->shard(static_cast<int>(unit));
    const float* const outer = units_[unit].outer.data();
    float* const difference = units_[unit].difference.data();
    for (size_t at = 0; at < parameters.size(); ++at) difference[at] = outer[at] - parameters[at];
    WEIR_TRY(queue_sum(difference, parameters.size(), step));
  }
  return queue_->end.record(queue_->stream);
}

Status OuterOptimizer::queue_sum(float* difference, size_t count, Index step) {
  if (groups_ == 1 || count == 0) return {};
  const shard::Precision precision = settings_.sharding.reduce;
  const auto others = static_cast<size_t>(groups_ - 1);
  traffic_.bytes += 2 * others * shard::wire_bytes(precision, count) / static_cast<size_t>(groups_);
  const weirStream_t stream = queue_->stream.handle();
  const ncclComm_t across = queue_->across.handle();
  const int result = precision == shard::Precision::float32
                         ? ncclAllReduce(difference, difference, count, ncclFloat, ncclSum, across,
                                         reinterpret_cast<cudaStream_t>(stream))
                         : weirQuantizedAllReduce(difference, difference, count, format_of(precision),
                                                  static_cast<uint64_t>(step), across, stream);
  return shard::checked(result, kWhat);
}

/// Sums become means as soon as they are there, so that a checkpoint does not depend on the number of groups.
Status OuterOptimizer::settle() {
  if (queued_.empty()) return {};
  WEIR_TRY(queue_->end.synchronize(kWhat));
  WEIR_TRY(queue_->stream.status(kWhat));
  WEIR_TRY(queue_->across.status(kWhat));
  const auto took = shard::Event::elapsed(queue_->begin, queue_->end, kWhat);
  WEIR_TRY(took.status());
  traffic_.busy_ms += static_cast<double>(*took);
  for (size_t unit = 0; unit < units_.size(); ++unit) {
    if (groups_ == 1 || std::ranges::find(queued_, fragments_.of_unit(unit)) == queued_.end()) continue;
    Array& difference = units_[unit].difference;
    for (Index at = 0; at < difference.size(); ++at) difference.data()[at] /= static_cast<float>(groups_);
  }
  queued_.clear();
  return {};
}

void OuterOptimizer::apply(Index step) {
  const float rate = settings_.outer_learning_rate, kept = settings_.outer_momentum;
  // Without a delay, and at the end, groups go on with one model.
  const float own = fragments_.overlap() && !fragments_.is_last(step) ? settings_.outer_mix : 0.0F;
  const std::vector<size_t> merged = fragments_.merged_after(step);
  for (size_t unit = 0; unit < units_.size(); ++unit) {
    if (std::ranges::find(merged, fragments_.of_unit(unit)) == merged.end()) continue;
    const std::span<float> parameters = engine_->shard(static_cast<int>(unit));
    float* const outer = units_[unit].outer.data();
    float* const momentum = units_[unit].momentum.data();
    const float* const difference = units_[unit].difference.data();
    for (size_t at = 0; at < parameters.size(); ++at) {
      momentum[at] = kept * momentum[at] + difference[at];
      outer[at] -= rate * (difference[at] + kept * momentum[at]);
      parameters[at] = own > 0 ? own * parameters[at] + (1.0F - own) * outer[at] : outer[at];
    }
  }
  std::erase_if(sent_, [&](size_t fragment) { return std::ranges::find(merged, fragment) != merged.end(); });
}

void OuterOptimizer::swap_parameters() {
  for (size_t unit = 0; unit < units_.size(); ++unit)
    std::ranges::swap_ranges(
        engine_->shard(static_cast<int>(unit)),
        std::span<float>(units_[unit].outer.data(), static_cast<size_t>(units_[unit].outer.size())));
}

Status OuterOptimizer::combine(GroupSums& sums) {
  if (groups_ == 1) return {};
  uint64_t counts[] = {sums.tokens, sums.votes};
  double reals[] = {sums.loss, sums.gradient_norm * sums.gradient_norm};
  WEIR_TRY(shard::checked(ncclAllReduce(counts, counts, 2, ncclUint64, ncclSum, across_.handle(), nullptr),
                          kWhat));
  WEIR_TRY(
      shard::checked(ncclAllReduce(reals, reals, 2, ncclDouble, ncclSum, across_.handle(), nullptr), kWhat));
  sums = {counts[0], counts[1], reals[0], std::sqrt(reals[1] / groups_)};
  return {};
}

std::vector<checkpoint::ShardArray> OuterOptimizer::arrays(const std::vector<checkpoint::ShardArray>& own) {
  std::vector<checkpoint::ShardArray> all;
  const auto spans = [this](Array Arrays::*member) {
    std::vector<std::span<float>> units;
    for (Arrays& arrays : units_)
      units.emplace_back((arrays.*member).data(), static_cast<size_t>((arrays.*member).size()));
    return units;
  };
  for (int group = 0; group < groups_; ++group) {
    const std::string suffix = group == 0 ? "" : fmt::format(".{}", group);
    const bool mine = group == group_;
    for (const checkpoint::ShardArray& array : own)
      all.push_back(
          {array.name + suffix, mine ? array.units : std::vector<std::span<float>>(), mine, array.parts});
    // While they are swapped, the group's own parameters are where the outer ones belong.
    all.push_back(
        {"local_parameters" + suffix, mine ? spans(&Arrays::outer) : std::vector<std::span<float>>(), mine});
  }
  all.push_back({"outer_momentum", spans(&Arrays::momentum), group_ == 0});
  if (fragments_.overlap()) all.push_back({"outer_difference", spans(&Arrays::difference), group_ == 0});
  return all;
}

std::vector<const float*> OuterOptimizer::state(size_t unit) {
  return {units_[unit].momentum.data(), units_[unit].outer.data()};
}

size_t OuterOptimizer::memory() const {
  std::vector<size_t> elements;
  for (const Arrays& arrays : units_) elements.push_back(static_cast<size_t>(arrays.outer.size()));
  return outer_bytes(elements);
}

void OuterOptimizer::abort() {
  ranks_.abort();
  across_.abort();
  if (queue_) queue_->across.abort();
}

}  // namespace weir::trainer
