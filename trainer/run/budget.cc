// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "trainer/parallel/pipeline_schedule.h"
#include "trainer/run/muon.h"
#include "trainer/run/outer_optimizer.h"
#include "trainer/shard/gathers.h"
#include "trainer/shard/grains.h"
#include "trainer/shard/reductions.h"

namespace weir::trainer {
namespace {

std::vector<shard::Cut> cuts_of(const Model& model, const parallel::UnitRange& units,
                                const shard::Place& place) {
  std::vector<shard::Cut> cuts;
  for (size_t at = units.first; at < units.end; ++at)
    cuts.emplace_back(static_cast<size_t>(model.units()[at]->parameters().size()), place.shards,
                      place.replicas);
  return cuts;
}

std::vector<shard::Cut> cuts_of(const Model& model, const shard::Place& place) {
  return cuts_of(model, {0, model.units().size()}, place);
}

/// The largest memory that `count` consecutive units take while they are gathered.
size_t widest(const std::vector<shard::Cut>& cuts, size_t count, shard::Precision precision) {
  size_t most = 0;
  for (size_t first = 0; first + count <= cuts.size(); ++first) {
    size_t bytes = 0;
    for (size_t at = first; at < first + count; ++at) bytes += shard::Gathers::bytes_of(cuts[at], precision);
    most = std::max(most, bytes);
  }
  return most;
}

bool gathers_anything(const Settings& settings, const shard::Place& place) {
  return place.shards > 1 || settings.sharding.gather != shard::Precision::float32;
}

/// Whether the limiter's bytes limit what is gathered.
bool limits_bytes(const Settings& settings) {
  return settings.sharding.limiter.kind != shard::Limit::off && shard::reshards(settings.sharding.strategy);
}

/// Whether fit() may set the limiter's bytes.
bool leaves_bytes_open(const Settings& settings, const shard::Place& place) {
  return gathers_anything(settings, place) && limits_bytes(settings) && settings.sharding.limiter.bytes == 0;
}

/// Number of units that prefetch and limiter allow to be gathered at once.
size_t most_gathers(const Settings& settings, size_t units) {
  const auto ahead = static_cast<size_t>(std::max(settings.sharding.forward_prefetch, 0));
  const auto gathers = static_cast<size_t>(std::max(settings.sharding.limiter.gathers, 0));
  return std::min({ahead + 1, gathers > 0 ? gathers : units, units});
}

double mib(size_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace

std::string RankMemory::describe() const {
  return fmt::format(
      "{:.1f} MiB: states {:.1f}, gathered {:.1f}, gradients in flight {:.1f}, activations {:.1f}",
      mib(total()), mib(states), mib(gathered), mib(gradients), mib(activations));
}

std::string RankMemory::least() const { return fmt::format("{} bytes, {}", total(), describe()); }

Batch shape_of_batch(const Settings& settings, int ranks) {
  const Index share = (settings.batch + ranks - 1) / ranks;
  Batch batch;
  const Index parts = settings.parts.stages > 1 ? Index{4} * settings.parts.stages : 1;
  batch.sequences =
      settings.micro_batch > 0 ? std::min(settings.micro_batch, share) : (share + parts - 1) / parts;
  batch.length = settings.config.length;
  batch.by_sequence = settings.canonical;
  return batch;
}

namespace {

/// Of a whole unit.
size_t floats_of_variance(const Settings& settings, const Model& model, size_t at) {
  const ParameterTable& table = model.units()[at]->parameters();
  if (settings.optimizer != Optimizer::muon || !is_block(model, at)) return static_cast<size_t>(table.size());
  Index floats = 0;
  for (const auto& [first, end] : vectors_in(table, 0, table.size())) floats += end - first;
  return static_cast<size_t>(floats);
}

/// Activations of a rank with these units and up to `slots` micro-batches between forward and backward.
RankMemory memory_of_stage(const Settings& settings, const Model& model, const parallel::UnitRange& units,
                           int slots, const shard::Place& place, const Batch& batch) {
  const std::vector<shard::Cut> cuts = cuts_of(model, units, place);
  const shard::EngineOptions& sharding = settings.sharding;
  RankMemory memory;
  size_t largest = 0;
  std::vector<size_t> own;  // elements that this rank owns of each unit
  for (const shard::Cut& cut : cuts) {
    own.push_back(std::min(cut.shard_length(), cut.parameters()));
    const size_t gradients =
        std::max(cut.shard_length(), cut.piece_length() * static_cast<size_t>(place.replicas));
    const auto at = units.first + static_cast<size_t>(&cut - cuts.data());
    const size_t moments = own.back() + std::min(own.back(), floats_of_variance(settings, model, at));
    const size_t secondary =
        place.group_ranks > 1 ? cut.padded() / static_cast<size_t>(place.group_ranks) : 0;
    memory.states += (cut.shard_length() + gradients + moments + secondary) * sizeof(float);
    largest = std::max(largest, cut.padded());
  }
  if (settings.local_steps > 0) memory.states += outer_bytes(own);
  if (settings.optimizer == Optimizer::muon)
    memory.states += static_cast<size_t>(Muon::floats(matrices_of(model, units))) * sizeof(float);
  if (gathers_anything(settings, place)) {
    memory.gathered = widest(cuts, cuts.size(), sharding.gather);
    if (limits_bytes(settings) && sharding.limiter.bytes > 0)
      memory.gathered = std::min(memory.gathered, sharding.limiter.bytes);
  }
  if (!settings.canonical)
    memory.gradients =
        static_cast<size_t>(sharding.reductions) * largest * shard::bytes_under_way(place, sharding.reduce);
  const Index between = batch.rows() * settings.config.width;
  Index slot = units.first > 0 ? between : 0;  // activations received from the previous stage
  for (size_t at = units.first; at < units.end; ++at) {
    const Unit& unit = *model.units()[at];
    slot += unit.saved_floats(batch) + (&unit == &model.head() ? 0 : between);
  }
  const Index ways_back = settings.parts.stages > 1 ? 2 : 1;
  const Index floats =
      slots * slot + ways_back * between + model.scratch_floats(batch) + model.tied_floats(batch);
  memory.activations = static_cast<size_t>(floats) * sizeof(float);
  return memory;
}

}  // namespace

std::vector<parallel::UnitRange> stages_of(const Settings& settings, const Model& model) {
  return *parallel::balance(model.unit_costs(), settings.parts.stages);
}

int slots_of(const Settings& settings, int ranks, int stage) {
  const Batch batch = shape_of_batch(settings, ranks);
  const shard::GrainPlan plan(static_cast<uint64_t>(settings.batch), ranks,
                              static_cast<uint64_t>(batch.sequences));
  return parallel::most_in_flight(stage, settings.parts.stages, plan.micro_batches());
}

RankMemory memory_of(const Settings& settings, const Model& model, const shard::Place& place, int ranks) {
  const Batch batch = shape_of_batch(settings, ranks);
  RankMemory most;
  int stage = 0;
  for (const parallel::UnitRange& units : stages_of(settings, model)) {
    const int slots = slots_of(settings, ranks, stage++);
    const RankMemory memory = memory_of_stage(settings, model, units, slots, place, batch);
    if (memory.total() > most.total()) most = memory;
  }
  return most;
}

RankMemory memory_within(const Settings& settings, const Model& model, const shard::Place& place, int ranks) {
  Settings fitted = settings;
  if (settings.memory > 0 && leaves_bytes_open(settings, place)) {
    const std::vector<shard::Cut> cuts = cuts_of(model, place);
    fitted.sharding.limiter.bytes =
        widest(cuts, most_gathers(settings, cuts.size()), settings.sharding.gather);
  }
  return memory_of(fitted, model, place, ranks);
}

Status fit(Settings& settings, const Model& model, const shard::Place& place, int ranks) {
  if (settings.memory == 0) return {};
  const std::vector<shard::Cut> cuts = cuts_of(model, place);
  const bool bounded = leaves_bytes_open(settings, place);
  const Index asked = settings.micro_batch;
  Settings tried = settings;
  for (size_t count = most_gathers(settings, cuts.size());; --count) {
    const size_t window = widest(cuts, count, settings.sharding.gather);
    tried.micro_batch = asked;
    for (tried.micro_batch = shape_of_batch(tried, ranks).sequences; tried.micro_batch >= 1;
         --tried.micro_batch) {
      if (bounded) tried.sharding.limiter.bytes = window;
      const RankMemory memory = memory_of(tried, model, place, ranks);
      if (memory.total() <= settings.memory) {
        if (bounded) tried.sharding.limiter.bytes += settings.memory - memory.total();
        settings = tried;
        return {};
      }
      if (asked > 0) break;
    }
    if (count == 1 || !bounded) break;
  }
  tried.micro_batch = asked > 0 ? asked : 1;
  return Status(Code::invalid_argument,
                fmt::format("--memory {} ({:.1f} MiB) is too small; expected at least {}{}", settings.memory,
                            mib(settings.memory), memory_of(tried, model, place, ranks).least(),
                            settings.recompute == Recompute::full ? "" : "; --recompute full needs less"));
}

}  // namespace weir::trainer
