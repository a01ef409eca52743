// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trainer/math/gpu/gpu_ops.h"
#include "trainer/plan/row_speed.h"
#include "trainer/run/array.h"
#include "trainer/run/budget.h"
#include "trainer/shard/arrays.h"
#include "trainer/shard/calls.h"
#include "trainer/shard/groups.h"

namespace weir::trainer {
namespace {

using shard::checked;

constexpr Index kFewSequences = 1;   ///< sequences of a block with which its time is measured
constexpr Index kMostSequences = 4;  ///< and, if the batch has them, with up to so many
constexpr double kPartOfMemory = 0.8;

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// One block with its own arrays.
class Block {
 public:
  static Result<Block> make(const Settings& settings, const Model& model, int ranks) {
    Block block(*model.units()[1], settings.config.width, shape_of_batch(settings, ranks),
                settings.sharding.gpu);
    const Index between = block.batch_.rows() * block.width_;
    const Index count = block.unit_.parameters().size();
    for (auto [array, size] : {std::pair{&block.parameters_, count},
                               {&block.gradients_, count},
                               {&block.mean_, count},
                               {&block.variance_, count},
                               {&block.input_, between},
                               {&block.output_, between},
                               {&block.gradient_, between},
                               {&block.saved_, block.unit_.saved_floats(block.batch_)},
                               {&block.scratch_, block.unit_.scratch_floats(block.batch_)}}) {
      auto made = Array::make(size, settings.sharding.gpu);
      WEIR_TRY(made.status());
      *array = std::move(*made);
      block.where_.clear(array->data(), static_cast<size_t>(size));
    }
    Buffer values(count);
    initialise(block.unit_.parameters(), settings.seed, 0, count, values.data());
    block.where_.copy(values.data(), static_cast<size_t>(count) * sizeof(float), block.parameters_.data());
    for (Index at = 0; at < between; at += count)
      block.where_.copy(values.data(), static_cast<size_t>(std::min(count, between - at)) * sizeof(float),
                        block.input_.data() + at);
    WEIR_TRY(block.where_.status());
    return block;
  }

  Index sequences() const { return batch_.sequences; }
  double rows(Index sequences) const { return static_cast<double>(sequences * batch_.length); }
  size_t parameters() const { return static_cast<size_t>(parameters_.size()); }
  /// Runs forward and backward for so many of its sequences; complete on return.
  void compute(Ops& ops, Index sequences) {
    const Compute with{ops, scratch_.data()};
    Batch batch = batch_;
    batch.sequences = sequences;
    const Index between = batch.rows() * width_;
    unit_.forward(with, batch, parameters_.data(), input_.data(), output_.data(), saved_.data());
    // Any gradient of the magnitude of the input's values will do.
    ops.clear(between, gradient_.data());
    ops.run(Add{between, input_.data(), gradient_.data()});
    PlainGradients sum(gradients_.data());
    unit_.backward(with, batch, parameters_.data(), input_.data(), saved_.data(), gradient_.data(), sum);
    ops.finish();
  }
  /// One step of AdamW on its parameters; complete on return. They keep their magnitude, as the rate is 0.
  void update(Ops& ops) {
    const AdamW adamw{.learning_rate = 0,
                      .beta1 = 0.9f,
                      .beta2 = 0.95f,
                      .epsilon = 1e-8f,
                      .weight_decay = 0,
                      .gradient_scale = 1,
                      .step = 1};
    optimise(ops, unit_.parameters(), adamw, 0, parameters_.size(), parameters_.data(), gradients_.data(),
             mean_.data(), variance_.data(), Tensors::all);
    ops.finish();
  }

 private:
  Block(const Unit& unit, Index width, Batch batch, gpu::GpuOps* gpu)
      : unit_(unit), width_(width), batch_(batch), where_(gpu) {
    batch_.sequences = std::clamp(batch_.sequences, kFewSequences + 1, kMostSequences);
    batch_.loss_scale = 1;
  }

  const Unit& unit_;
  Index width_;
  Batch batch_;
  shard::Arrays where_;
  Array parameters_, gradients_, mean_, variance_, input_, output_, gradient_, saved_, scratch_;
};

/// Seconds of a block.
struct BlockTimes {
  double few = 0;  ///< with kFewSequences
  double all = 0;
};

/// Of the slowest rank while all ranks compute, with few sequences and with all in turn.
Result<BlockTimes> block_times(ncclComm_t comm, Block& block, Ops& ops) {
  const std::array sizes = {kFewSequences, block.sequences()};
  for (const Index size : sizes) block.compute(ops, size);  // creates oneDNN's cached primitives
  std::array<double, 2> best{};
  double spent = 0;
  for (int turn = 0; takes_another_turn(turn, spent); ++turn)
    for (size_t at = 0; at < sizes.size(); ++at) {
      WEIR_TRY(largest(comm, 0).status());  // a barrier
      const auto slowest = largest(comm, seconds_of([&] { block.compute(ops, sizes[at]); }));
      WEIR_TRY(slowest.status());
      best[at] = turn == 0 ? *slowest : std::min(best[at], *slowest);
      spent += *slowest;
    }
  WEIR_TRY(ops.status());
  return BlockTimes{best[0], best[1]};
}

/// Seconds in which the optimizer updates a parameter of the block while all ranks do so.
Result<double> update_seconds(ncclComm_t comm, Block& block, Ops& ops) {
  block.update(ops);
  double best = 0, spent = 0;
  for (int turn = 0; takes_another_turn(turn, spent); ++turn) {
    WEIR_TRY(largest(comm, 0).status());
    const auto slowest = largest(comm, seconds_of([&] { block.update(ops); }));
    WEIR_TRY(slowest.status());
    best = turn == 0 ? *slowest : std::min(best, *slowest);
    spent += *slowest;
  }
  WEIR_TRY(ops.status());
  return best / static_cast<double>(block.parameters());
}

/// Bytes of free memory on this machine, or on its GPU.
Result<double> available_bytes(gpu::GpuOps* gpu) {
  if (gpu != nullptr) {
    const auto left = gpu->gpu().available();
    WEIR_TRY(left.status());
    return static_cast<double>(*left);
  }
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    double kib = 0;
    if (word == "MemAvailable:" && file >> kib) return kib * 1024;
  }
  return Status(Code::system_error,
                "/proc/meminfo has no line MemAvailable; expected the option --memory BYTES");
}

/// The ranks of a host share its GPUs round-robin.
Result<double> memory_per_rank(const World& world, const Settings& settings, int ranks_of_host) {
  if (settings.memory > 0) return static_cast<double>(settings.memory);
  int sharing = ranks_of_host;
  if (settings.sharding.gpu != nullptr) {
    const auto gpus = gpu::Gpu::count();
    WEIR_TRY(gpus.status());
    sharing = (ranks_of_host + *gpus - 1) / *gpus;
  }
  WEIR_TRY(largest(world.comm(), 0).status());  // a barrier: all ranks have allocated their memory
  const auto available = available_bytes(settings.sharding.gpu);
  WEIR_TRY(available.status());
  const auto least = largest(world.comm(), -*available / sharing);
  WEIR_TRY(least.status());
  return -*least * kPartOfMemory;
}

/// Numbers of ranks and hosts.
Status find_shape(const World& world, shard::Place& place) {
  auto places = shard::make_places(world.comm(), shard::Strategy::hybrid_shard, 0);
  place = {0, 1, world.rank(), world.ranks()};  // also if hosts have unequal numbers of ranks
  if (places.ok()) place = (*places)[static_cast<size_t>(world.rank())];
  return places.ok() || places.status().code() == Code::invalid_argument ? Status() : places.status();
}

Status measure_links(const World& world, const shard::Place& place, size_t floats, gpu::GpuOps* gpu,
                     Survey& found) {
  if (place.replicas > 1) {
    const auto between = link_of(world.comm(), world.ranks(), floats, gpu);
    WEIR_TRY(between.status());
    found.between = *between;
  }
  if (place.shards > 1) {
    auto host = shard::Communicator::split(world.comm(), place.replica, place.shard, "survey");
    WEIR_TRY(host.status());
    const auto own = link_of(host->handle(), place.shards, floats, gpu);
    WEIR_TRY(own.status());
    // The slowest host determines the result.
    const auto pace = largest(world.comm(), 1 / own->rate);
    WEIR_TRY(pace.status());
    const auto latency = largest(world.comm(), own->latency);
    WEIR_TRY(latency.status());
    found.inside = {std::max(1 / *pace, found.between.rate), *latency};
  }
  return {};
}

}  // namespace

plan::Model plan_model(const Model& model) {
  const Config& config = model.config();
  plan::Model seen;
  seen.name = "preset " + config.name;
  seen.width = static_cast<double>(config.width);
  seen.heads = static_cast<double>(config.heads);
  seen.sequence = static_cast<double>(config.length);
  seen.vocabulary = static_cast<double>(config.vocabulary);
  seen.flash = true;
  for (size_t at = 0; at < model.units().size(); ++at) {
    const ParameterTable& table = model.units()[at]->parameters();
    plan::Unit unit;
    unit.name = at == 0 ? "embedding" : at + 1 == model.units().size() ? "head" : "block";
    unit.parameters = static_cast<double>(table.size());
    if (at > 0)
      for (const Tensor& tensor : table.tensors())
        if (tensor.rows > 1) unit.products += static_cast<double>(tensor.size());
    if (unit.name == "block") unit.attentions = 1;
    if (unit.name == "head" && config.tied) unit.products = static_cast<double>(model.table_floats());
    seen.units.push_back(std::move(unit));
  }
  return seen;
}

Result<Survey> survey(const World& world, const Settings& settings, const Model& model, Ops& ops) {
  shard::Place place;
  WEIR_TRY(find_shape(world, place));
  Survey found;
  plan::Cluster& cluster = found.cluster;
  cluster.title = "the ranks that are here";
  cluster.nodes = place.replicas;
  cluster.gpus = place.shards;
  const auto bytes = [](shard::Precision of) {
    return static_cast<double>(shard::wire_bytes(of, 1024)) / 1024;
  };
  cluster.precision = {bytes(settings.sharding.gather), bytes(settings.sharding.reduce), 4};
  const auto memory = memory_per_rank(world, settings, place.shards);
  WEIR_TRY(memory.status());
  cluster.memory = *memory;

  auto block = Block::make(settings, model, world.ranks());
  WEIR_TRY(block.status());
  const auto times = block_times(world.comm(), *block, ops);
  WEIR_TRY(times.status());
  const plan::Model seen = plan_model(model);
  const plan::RowSpeed speed =
      plan::row_speed({block->rows(kFewSequences), times->few}, {block->rows(block->sequences()), times->all},
                      3 * plan::forward_flops(seen, seen.units[1]));
  cluster.compute = cluster.peak = speed.compute;
  cluster.half_rows = speed.half_rows;
  const auto update = update_seconds(world.comm(), *block, ops);
  WEIR_TRY(update.status());
  cluster.update = *update;
  if (world.ranks() > 1) {
    WEIR_TRY(measure_links(world, place, block->parameters(), settings.sharding.gpu, found));
    const auto contention = measure_contention(
        world.comm(), world.ranks(), block->parameters(), times->all,
        [&] { block->compute(ops, block->sequences()); }, settings.sharding.gpu);
    WEIR_TRY(contention.status());
    WEIR_TRY(ops.status());
    cluster.contention = *contention;
  }
  auto links = measured_topology(place.replicas, place.shards, found.inside, found.between);
  WEIR_TRY(links.status());
  cluster.links = std::move(*links);
  return found;
}

}  // namespace weir::trainer
