// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/transfer_survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "trainer/run/array.h"
#include "trainer/run/turns.h"
#include "trainer/shard/calls.h"

namespace weir::trainer {
namespace {

using shard::checked;
using Clock = std::chrono::steady_clock;

constexpr size_t kSmallFloats = 64;  ///< floats per rank: an all-gather of which all time is latency
/// A GPU's stream holds about a thousand operations before it blocks the thread that adds more.
constexpr double kMostGathers = 256;
// Of how many wakes the mean is taken, since they are anywhere in a time slice, or for how long.
constexpr double kMostWakes = 50;
constexpr double kWakesSeconds = 0.5;

double elapsed(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
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
  /// Seconds of `count` all-gathers, queued at once, while no rank computes.
  Result<double> seconds(int count = 1) {
    double best = 0, spent = 0;
    WEIR_TRY(run(1).status());  // opens channels
    for (int turn = 0; takes_another_turn(turn, spent); ++turn) {
      const auto slowest = run(count);
      WEIR_TRY(slowest.status());
      best = turn == 0 ? *slowest : std::min(best, *slowest);
      spent += *slowest;
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

  Result<double> run(int count) {
    WEIR_TRY(largest(comm_, 0).status());
    const auto begin = Clock::now();
    WEIR_TRY(queue(count));
    WEIR_TRY(wait());
    return largest(comm_, elapsed(begin));
  }

  ncclComm_t comm_;
  int ranks_;
  Array own_, all_;
  shard::Stream stream_;
  shard::Event end_;
};

}  // namespace

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

namespace {

/// `alone`: seconds of `compute`.
Result<plan::Contention> measure_speeds(ncclComm_t comm, Gather& gather, double alone,
                                        const std::function<void()>& compute) {
  const auto one = gather.seconds();
  WEIR_TRY(one.status());
  const int computations = static_cast<int>(kManyTimeSlices / alone) + 1;
  const int gathers = static_cast<int>(std::clamp(computations * alone / *one, 1.0, kMostGathers));
  const auto all = gather.seconds(gathers);
  WEIR_TRY(all.status());
  plan::ComputingAndTransfers sum;  // of all turns, which differ in which threads have got a core
  int turns = 0;
  for (; takes_another_turn(turns, sum.transfers); ++turns) {
    WEIR_TRY(largest(comm, 0).status());
    const auto begin = Clock::now();
    WEIR_TRY(gather.queue(gathers));
    for (int at = 0; at < computations; ++at) compute();
    const double computed = elapsed(begin);
    WEIR_TRY(gather.wait());
    const auto all_computed = largest(comm, computed);
    WEIR_TRY(all_computed.status());
    const auto end = largest(comm, elapsed(begin));
    WEIR_TRY(end.status());
    sum.computing += *all_computed;
    sum.transfers += *end;
  }
  return plan::contention_of({computations * alone, *all}, {sum.computing / turns, sum.transfers / turns});
}

/// `alone`: seconds of `compute`, the same on all ranks.
Result<double> measure_wake(ncclComm_t comm, double alone, const std::function<void()>& compute,
                            gpu::GpuOps* gpu) {
  auto stream = shard::Stream::make(gpu);
  WEIR_TRY(stream.status());
  auto queued = shard::Event::make(gpu);
  WEIR_TRY(queued.status());
  auto begun = shard::Event::make(gpu);
  WEIR_TRY(begun.status());
  const int turns = static_cast<int>(std::clamp(kWakesSeconds / alone, 3.0, kMostWakes));
  double milliseconds = 0;
  WEIR_TRY(largest(comm, 0).status());
  for (int turn = 0; turn < turns; ++turn) {
    WEIR_TRY(queued->record_now());
    WEIR_TRY(begun->record(*stream));
    compute();
    WEIR_TRY(begun->synchronize("survey"));
    const auto took = shard::Event::elapsed(*queued, *begun, "survey");
    WEIR_TRY(took.status());
    milliseconds += static_cast<double>(*took);
  }
  return largest(comm, milliseconds / turns / 1e3);
}

}  // namespace

Result<plan::Contention> measure_contention(ncclComm_t comm, int ranks, size_t floats,
                                            const std::function<void()>& compute, gpu::GpuOps* gpu) {
  const auto alone = usual_seconds(comm, compute);
  WEIR_TRY(alone.status());
  auto gather = Gather::make(comm, ranks, floats / static_cast<size_t>(ranks) + 1, gpu);
  WEIR_TRY(gather.status());
  auto contention = measure_speeds(comm, *gather, *alone, compute);
  WEIR_TRY(contention.status());
  const auto wake = measure_wake(comm, *alone, compute, gpu);
  WEIR_TRY(wake.status());
  contention->wake = *wake;
  return contention;
}

/// PCIe is as fast as the NIC, and slower than the switch, so that it carries only what goes to the NIC.
Result<std::shared_ptr<plan::Links>> measured_topology(int hosts, int ranks_per_host,
                                                       const MeasuredLinks& inside,
                                                       const MeasuredLinks& between) {
  static constexpr double kLowest = 1e-4, kHighest = 1e5;  // GB/s, within what a description can have
  const auto rate = [](const MeasuredLinks& links, double unused) {
    return links.rate > 0 ? std::clamp(links.rate / 1e9, kLowest, kHighest) : unused;
  };
  const double nic = rate(between, kLowest);
  const double nvswitch = std::max(rate(inside, kHighest), 1.001 * nic);
  return plan::Links::read(
      {fmt::format("{} x ({} gpu nvswitch {:.6f} pcie {:.6f}, 1 nic {:.6f}) leaf", hosts, ranks_per_host,
                   nvswitch, nic, nic)},
      fmt::format("0,nvlink={:.6f},network={:.6f}", inside.latency * 1e6, between.latency / 2 * 1e6));
}

}  // namespace weir::trainer
