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

constexpr int kTurns = 5;            ///< number of measurements, of which the fastest counts
constexpr int kFewestTurns = 3;      ///< also if they are slow: a single one may have been interrupted
constexpr double kLongEnough = 1;    ///< seconds of computing after which no more turns are needed
constexpr Index kFewSequences = 1;   ///< sequences of a block with which its time is measured
constexpr Index kMostSequences = 4;  ///< and, if the batch has them, with up to so many
constexpr size_t kSmallFloats = 64;  ///< floats per rank: an all-gather of which all time is latency
constexpr double kPartOfMemory = 0.8;
constexpr double kMostContention = 0.9;

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The largest value over all ranks.
Result<double> largest(ncclComm_t comm, double value) {
  WEIR_TRY(checked(ncclAllReduce(&value, &value, 1, ncclFloat64, ncclMax, comm, nullptr), "survey"));
  return value;
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
                               {&block.input_, between},
                               {&block.output_, between},
                               {&block.gradient_, between},
                               {&block.saved_, block.unit_.saved_floats(block.batch_)},
                               {&block.scratch_, block.unit_.scratch_floats(block.batch_)}}) {
      auto made = Array::make(size, settings.sharding.gpu);
      WEIR_TRY(made.status());
      *array = std::move(*made);
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
  Array parameters_, gradients_, input_, output_, gradient_, saved_, scratch_;
};

/// Whether one more turn of a measurement is worth its time. The same on all ranks if `seconds` is.
bool goes_on(int turns, double seconds) {
  return turns < kFewestTurns || (turns < kTurns && seconds < kLongEnough);
}

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
  for (int turn = 0; goes_on(turn, spent); ++turn)
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

/// All-gathers of `floats` per rank, on a stream.
class Gather {
 public:
  static Result<Gather> make(ncclComm_t comm, int ranks, size_t floats, gpu::GpuOps* gpu) {
    auto own = Array::make(static_cast<Index>(floats), gpu);
    WEIR_TRY(own.status());
    auto all = Array::make(static_cast<Index>(floats) * ranks, gpu);
    WEIR_TRY(all.status());
    auto stream = shard::Stream::make(gpu);
    WEIR_TRY(stream.status());
    auto end = shard::Event::make(gpu);
    WEIR_TRY(end.status());
    return Gather(comm, ranks, std::move(*own), std::move(*all), std::move(*stream), std::move(*end));
  }

  Status queue(int count) {
    for (int at = 0; at < count; ++at)
      WEIR_TRY(checked(ncclAllGather(own_.data(), all_.data(), static_cast<size_t>(own_.size()), ncclFloat32,
                                     comm_, stream_.cuda()),
                       "survey"));
    return end_.record(stream_);
  }
  Status wait() { return end_.synchronize("survey"); }
  /// Seconds of one all-gather while no rank computes.
  Result<double> seconds() {
    double best = 0;
    for (int turn = 0; turn <= kTurns; ++turn) {
      Status status;
      const double own = seconds_of([&] {
        status = queue(1);
        if (status.ok()) status = wait();
      });
      WEIR_TRY(std::move(status));
      const auto slowest = largest(comm_, own);
      WEIR_TRY(slowest.status());
      if (turn > 0) best = turn == 1 ? *slowest : std::min(best, *slowest);  // the first one opens channels
    }
    return best;
  }
  double bytes() const { return static_cast<double>(all_.size()) * sizeof(float); }
  double part() const { return (ranks_ - 1.0) / ranks_; }
  int steps() const { return ranks_ - 1; }

 private:
  Gather(ncclComm_t comm, int ranks, Array own, Array all, shard::Stream stream, shard::Event end)
      : comm_(comm),
        ranks_(ranks),
        own_(std::move(own)),
        all_(std::move(all)),
        stream_(std::move(stream)),
        end_(std::move(end)) {}

  ncclComm_t comm_;
  int ranks_;
  Array own_, all_;
  shard::Stream stream_;
  shard::Event end_;
};

/// Solves the time of a ring, t = bytes (W-1)/W / rate + (W-1) latency, for both, with two sizes.
Result<MeasuredLinks> link_of(ncclComm_t comm, int ranks, size_t floats, gpu::GpuOps* gpu) {
  auto small = Gather::make(comm, ranks, kSmallFloats, gpu);
  WEIR_TRY(small.status());
  auto large =
      Gather::make(comm, ranks, std::max(floats / static_cast<size_t>(ranks), 16 * kSmallFloats), gpu);
  WEIR_TRY(large.status());
  const auto short_one = small->seconds();
  WEIR_TRY(short_one.status());
  const auto long_one = large->seconds();
  WEIR_TRY(long_one.status());
  const double bytes = large->bytes() * large->part() - small->bytes() * small->part();
  return MeasuredLinks{bytes / std::max(*long_one - *short_one, *long_one / 100),
                       *short_one / small->steps()};
}

/// The fraction of its speed that computing loses while gathers are in flight.
Result<double> contention(ncclComm_t comm, int ranks, Block& block, Ops& ops, double alone,
                          gpu::GpuOps* gpu) {
  auto gather = Gather::make(comm, ranks, block.parameters() / static_cast<size_t>(ranks) + 1, gpu);
  WEIR_TRY(gather.status());
  const auto each = gather->seconds();
  WEIR_TRY(each.status());
  const int count = std::clamp(static_cast<int>(2 * alone / *each) + 1, 1, 256);
  double best = 0, spent = 0;
  for (int turn = 0; goes_on(turn, spent); ++turn) {
    WEIR_TRY(gather->queue(count));
    const double own = seconds_of([&] { block.compute(ops, block.sequences()); });
    WEIR_TRY(gather->wait());
    const auto slowest = largest(comm, own);
    WEIR_TRY(slowest.status());
    best = turn == 0 ? *slowest : std::min(best, *slowest);
    spent += *slowest;
  }
  WEIR_TRY(ops.status());
  return std::clamp(1 - alone / best, 0.0, kMostContention);
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

/// A topology on which rings take what was measured: hosts with a switch inside and one NIC. PCIe is as fast
/// as the NIC, and slower than the switch, so that it carries only what goes to the NIC.
Result<std::shared_ptr<plan::Links>> measured_topology(const shard::Place& place, const Survey& survey) {
  static constexpr double kLowest = 1e-4, kHighest = 1e5;  // GB/s, within what a description can have
  const auto rate = [](const MeasuredLinks& links) {
    return links.rate > 0 ? std::clamp(links.rate / 1e9, kLowest, kHighest) : kHighest;
  };
  const std::string machine =
      fmt::format("{} x ({} gpu nvswitch {:.6f} pcie {:.6f}, 1 nic {:.6f}) leaf", place.replicas,
                  place.shards, std::max(rate(survey.inside), 1.001 * rate(survey.between)),
                  rate(survey.between), rate(survey.between));
  return plan::Links::read({machine},
                           fmt::format("0,nvlink={:.6f},network={:.6f}", survey.inside.latency * 1e6,
                                       survey.between.latency / 2 * 1e6));
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
  if (world.ranks() > 1) {
    WEIR_TRY(measure_links(world, place, block->parameters(), settings.sharding.gpu, found));
    const auto lost = contention(world.comm(), world.ranks(), *block, ops, times->all, settings.sharding.gpu);
    WEIR_TRY(lost.status());
    cluster.contention = *lost;
  }
  auto links = measured_topology(place, found);
  WEIR_TRY(links.status());
  cluster.links = std::move(*links);
  return found;
}

}  // namespace weir::trainer
