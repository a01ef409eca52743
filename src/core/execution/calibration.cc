// SPDX-License-Identifier: Apache-2.0

#include "src/core/execution/calibration.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <vector>

#include "src/base/clock.h"
#include "src/device/reduce.h"

namespace weir::core {
namespace {

constexpr int64_t kLongNs = 10'000'000;      // duration after which a ring stops, given kLeastRepeats
constexpr int64_t kLongestNs = 300'000'000;  // duration after which it stops even if the times do not fit
constexpr size_t kMostHosts = 16;            // hosts in the ring between hosts
constexpr size_t kMostInside = 32;           // ranks in the ring of a host: more would only take longer
constexpr int kRepeats = 20;  // the shortest time counts, as it is least affected by other work
constexpr int kLeastRepeats = 5;
constexpr size_t kSmall = 8;          // bytes
constexpr size_t kMany = 17;          // number of small messages, one after the other
constexpr size_t kLarge = 128 << 10;  // bytes
constexpr size_t kLargest = 4 << 20;  // bytes
// A transfer of this duration exceeds the bursts of buckets and queues on the path.
constexpr double kSteadySeconds = 2e-3;

double seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

/// One rank's part in measurements around a ring of ranks.
class Ring {
 public:
  /// How the time per byte is measured.
  struct Manner {
    bool steady = false;  ///< transfers are long enough to reach the network's sustained rate
    double crowd = 1;     ///< ranks of the ring per core; above 1, a single transfer is timed as well
  };

  /// REQUIRES: at least two ranks, `self` being one of them.
  Ring(Execution& execution, const std::vector<Rank>& ranks, Rank self, const Manner& manner)
      : execution_(execution),
        manner_(manner),
        bytes_(manner.steady ? kLargest : kLarge),
        arrived_(bytes_.size()),
        ranks_(static_cast<double>(ranks.size())) {
    at_ = static_cast<size_t>(std::ranges::find(ranks, self) - ranks.begin());
    next_ = ranks[(at_ + 1) % ranks.size()];
    previous_ = ranks[(at_ + ranks.size() - 1) % ranks.size()];
  }

  /// Measures the ring; only the first rank's result is valid.
  Result<cost::ChannelRates> measure() {
    double unused = kNever;
    WEIR_TRY(together(unused, 1, kLarge));  // warm-up: opens channels, touches slots
    auto steady = manner_.steady ? steady_bytes() : Result<size_t>(kSmall);
    WEIR_TRY(steady.status());
    const size_t base = *steady;
    const size_t large = manner_.steady ? 2 * base : kLarge;
    double token = kNever, one = kNever, many = kNever;
    std::array all = {TimedTransfer{base}, TimedTransfer{large}}, alone = all;
    const int64_t began = now_ns();
    for (int i = 0;; ++i) {
      const bool clear = is_clear(all, one) && (manner_.crowd <= 1 || is_clear(alone, token));
      const int64_t least = clear ? kLongNs : kLongestNs;
      const bool enough = i == kRepeats || (i >= kLeastRepeats && now_ns() - began > least);
      auto lap = run_lap(enough ? kStop : 0);
      WEIR_TRY(lap.status());
      token = std::min(token, lap->seconds);
      if (lap->word == kStop) break;
      WEIR_TRY(together(one, 1, kSmall));
      WEIR_TRY(together(many, kMany, kSmall));
      one = std::min(one, many);
      token = std::min(token, one / 2);  // the time includes two laps
      for (size_t which = 0; which < 2; ++which) {
        WEIR_TRY(together(all[which].seconds, 1, all[which].bytes));
        if (manner_.crowd <= 1) continue;
        lap = run_lap(0, alone[which].bytes);
        WEIR_TRY(lap.status());
        alone[which].seconds = std::min(alone[which].seconds, lap->seconds);
      }
    }
    cost::ChannelRates channel;
    channel.alpha = token / ranks_;
    channel.overhead = std::clamp((many - one) / (kMany - 1), 0.0, channel.alpha);
    channel.beta = seconds_per_byte(all, one);
    if (manner_.crowd > 1) share(channel, seconds_per_byte(alone, token));
    return channel;
  }
  bool first() const { return at_ == 0; }

 private:
  static constexpr uint64_t kStop = 1;  // content of a token
  struct Lap {
    uint64_t word;
    double seconds;
  };
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  /// Whether `least` is credible: the times fit(), and the network's share is not small compared with the
  /// delays, which other work on these cores may cause.
  bool is_clear(const std::array<TimedTransfer, 2>& least, double none) const {
    return fit(least, none) && (!manner_.steady || least[1].seconds > 2 * none);
  }

  /// The smallest message size that takes kSteadySeconds. The first rank decides.
  Result<size_t> steady_bytes() {
    for (size_t bytes = kLarge / 2;; bytes *= 2) {
      double all = kNever;
      WEIR_TRY(together(all, 1, bytes));
      const bool enough = all >= kSteadySeconds || 2 * bytes == kLargest;
      auto lap = run_lap(enough ? kStop : 0);
      WEIR_TRY(lap.status());
      if (lap->word == kStop) return bytes;
    }
  }

  /// Corrects for ranks that share cores: together they are slower than alone, as far as the cores limit
  /// them.
  void share(cost::ChannelRates& channel, double alone) const {
    alone = std::min(alone, channel.beta);
    const double work = std::clamp((channel.beta - alone) / (manner_.crowd - 1), 0.0, alone);
    channel.beta = alone;
    channel.wire = alone - work;
  }

  Operation send(size_t bytes) const {
    return SendOp{.input = bytes_.data(), .count = bytes, .type = DataType::int8, .peer = next_};
  }
  Operation receive(size_t bytes) {
    return RecvOp{.output = arrived_.data(), .count = bytes, .type = DataType::int8, .peer = previous_};
  }
  Status run(std::span<const Operation> operations) {
    execution_.begin(operations);
    Execution* const one = &execution_;
    return drive({&one, 1});
  }

  /// Sends the token around the ring: all ranks get the first rank's `word`. The first rank sends it as a
  /// message of `bytes` bytes.
  Result<Lap> run_lap(uint64_t word, size_t bytes = kSmall) {
    const int64_t began = now_ns();
    const Operation sent = send(first() ? bytes : kSmall);
    const Operation received = receive(at_ == 1 ? bytes : kSmall);
    if (first()) {
      std::memcpy(bytes_.data(), &word, sizeof word);
      WEIR_TRY(run({&sent, 1}));
    }
    WEIR_TRY(run({&received, 1}));
    std::memcpy(&word, arrived_.data(), sizeof word);
    if (!first()) {
      std::memcpy(bytes_.data(), &word, sizeof word);
      WEIR_TRY(run({&sent, 1}));
    }
    return Lap{word, seconds(now_ns() - began)};
  }

  /// All ranks send to the next one at once, between two laps of the token: they begin together, and when the
  /// second lap ends, all have finished.
  Status together(double& best, size_t messages, size_t bytes) {
    std::vector<Operation> operations;
    for (size_t i = 0; i < messages; ++i) {
      operations.push_back(send(bytes));
      operations.push_back(receive(bytes));
    }
    const int64_t began = now_ns();
    WEIR_TRY(run_lap(0).status());
    WEIR_TRY(run(operations));
    WEIR_TRY(run_lap(0).status());
    best = std::min(best, seconds(now_ns() - began));
    return {};
  }

  Execution& execution_;
  const Manner manner_;
  std::vector<std::byte> bytes_;
  std::vector<std::byte> arrived_;
  const double ranks_;
  size_t at_ = 0;
  Rank next_ = 0;
  Rank previous_ = 0;
};

/// Seconds per byte of a sum, for a rank that has a core of its own.
double measure_sums() {
  constexpr size_t kCount = size_t{16} << 10;
  std::vector<float> sum(kCount), other(kCount);
  const void* const sources[] = {sum.data(), other.data()};
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < kRepeats; ++i) {
    const int64_t began = now_ns();
    device::fold(DataType::float32, RedOp::sum, sum.data(), sources, 2, kCount);
    least = std::min(least, now_ns() - began);
  }
  return seconds(least) / (kCount * sizeof(float));
}

/// The first ranks of one host, or, if `host` is negative, the first rank of each of the first hosts.
std::vector<Rank> ring_of(const std::vector<int>& host_of, int host) {
  std::vector<Rank> ranks;
  std::vector<int> seen;
  for (Rank rank = 0; rank < static_cast<Rank>(host_of.size()); ++rank) {
    const int own = host_of[static_cast<size_t>(rank)];
    if (ranks.size() == (host >= 0 ? kMostInside : kMostHosts)) break;
    if (host >= 0 ? own != host : std::ranges::find(seen, own) != seen.end()) continue;
    seen.push_back(own);
    ranks.push_back(rank);
  }
  return ranks;
}

/// Number of ranks of this machine that are in the ring of some host: all of them measure at once.
int busy_on(int machine, const cost::Environment& by_rank) {
  std::vector<int> counted(by_rank.host_of.size());  // counted ranks by host
  int busy = 0;
  for (size_t rank = 0; rank < by_rank.host_of.size(); ++rank) {
    if (counted[static_cast<size_t>(by_rank.host_of[rank])]++ >= static_cast<int>(kMostInside)) continue;
    busy += by_rank.machine_of[rank] == machine;
  }
  return busy;
}

/// Ranks per core on the machine where most of these ranks share a core.
double crowd_of(const std::vector<Rank>& ranks, const cost::Environment& by_rank) {
  std::vector<double> busy(by_rank.cores.size());
  double most = 1;
  for (const Rank rank : ranks) {
    const auto machine = static_cast<size_t>(by_rank.machine_of[static_cast<size_t>(rank)]);
    most = std::max(most, ++busy[machine] / std::max(by_rank.cores[machine], 1));
  }
  return most;
}

}  // namespace

bool fit(const std::array<TimedTransfer, 2>& least, double none) {
  const auto [base, large] = least;
  if (!(large.seconds > base.seconds)) return false;
  const double share = static_cast<double>(large.bytes - base.bytes) / static_cast<double>(large.bytes);
  return large.seconds - base.seconds >= share * (large.seconds - none) / 2;
}

double seconds_per_byte(const std::array<TimedTransfer, 2>& least, double none) {
  const auto [base, large] = least;
  if (fit(least, none)) return (large.seconds - base.seconds) / static_cast<double>(large.bytes - base.bytes);
  const double took = large.seconds > none ? large.seconds - none : large.seconds;
  return took / static_cast<double>(large.bytes);
}

Result<cost::Rates> calibrate(Execution& execution, Rank self, const cost::Environment& by_rank) {
  cost::Rates rates;
  const auto own = static_cast<size_t>(self);
  const auto inside = ring_of(by_rank.host_of, by_rank.host_of[own]);
  const auto between = ring_of(by_rank.host_of, -1);
  if (inside.front() == self) rates.gamma = measure_sums();
  if (inside.size() > 1 && std::ranges::find(inside, self) != inside.end()) {
    Ring ring(execution, inside, self, {});
    auto channel = ring.measure();
    WEIR_TRY(channel.status());
    if (ring.first()) {
      const int machine = by_rank.machine_of[own];
      const double busy = busy_on(machine, by_rank);
      const double crowd = std::max(1.0, busy / by_rank.cores[static_cast<size_t>(machine)]);
      rates.inside = {channel->alpha, channel->overhead / crowd, channel->beta / crowd};
      // With shared cores the measurement is too coarse for a message's overhead.
      if (crowd > 1) rates.inside.overhead = std::min(by_rank.rates.inside.overhead, channel->alpha);
    }
  }
  if (between.size() > 1 && std::ranges::find(between, self) != between.end()) {
    Ring ring(execution, between, self, {.steady = true, .crowd = crowd_of(between, by_rank)});
    auto channel = ring.measure();
    WEIR_TRY(channel.status());
    if (ring.first()) rates.between = *channel;
  }
  return rates;
}

}  // namespace weir::core
