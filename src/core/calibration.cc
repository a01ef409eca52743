#include "src/core/calibration.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <vector>

#include "src/base/clock.h"
#include "src/device/reduce.h"

namespace weir::core {
namespace {

constexpr int64_t kLongNs = 10'000'000;  // of a ring: then it is enough, if it was measured some times
constexpr int kMostHosts = 16;           // in the ring between hosts
constexpr int kRepeats = 20;             // the least counts: whoever else uses the cores does not add to it
constexpr int kLeastRepeats = 8;
constexpr size_t kSmall = 8;          // bytes
constexpr size_t kMany = 17;          // small messages, one after the other
constexpr size_t kLarge = 128 << 10;  // bytes

double seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

/// One rank's part in measurements around a ring of ranks.
class Ring {
 public:
  /// REQUIRES: at least two ranks, `self` being one of them.
  Ring(Execution& execution, const std::vector<Rank>& ranks, Rank self)
      : execution_(execution), bytes_(kLarge), ranks_(static_cast<double>(ranks.size())) {
    const auto at = static_cast<size_t>(std::ranges::find(ranks, self) - ranks.begin());
    next_ = ranks[(at + 1) % ranks.size()];
    previous_ = ranks[(at + ranks.size() - 1) % ranks.size()];
    first_ = at == 0;
  }

  /// Only the first rank's figures mean anything.
  Result<cost::Channel> measure() {
    double token = kNever, one = kNever, many = kNever, large = kNever;
    WEIR_TRY(least(large, 1, kLarge));  // opens channels, touches slots
    large = kNever;
    const int64_t began = now_ns();
    for (int i = 0;; ++i) {
      const bool enough = i == kRepeats || (i >= kLeastRepeats && now_ns() - began > kLongNs);
      auto lap = turn(enough ? Next::stop : Next::on);
      WEIR_TRY(lap.status());
      token = std::min(token, lap->seconds);
      if (lap->next == Next::stop) break;
      WEIR_TRY(least(one, 1, kSmall));
      WEIR_TRY(least(many, kMany, kSmall));
      WEIR_TRY(least(large, 1, kLarge));
    }
    cost::Channel channel;
    channel.alpha = token / ranks_;
    channel.overhead = std::clamp((many - one) / (kMany - 1), 0.0, channel.alpha);
    channel.beta = std::max(0.0, large - one) / (kLarge - kSmall);
    return channel;
  }
  bool first() const { return first_; }

 private:
  enum class Next : uint64_t { stop, on };
  struct Lap {
    Next next;
    double seconds;
  };
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  Operation half(bool sends, size_t bytes) {
    Operation operation;
    operation.kind = Collective::send_recv;
    operation.type = DataType::int8;
    operation.sends = sends;
    operation.root = sends ? next_ : previous_;
    operation.count = bytes;
    operation.input = bytes_.data();
    operation.output = arrived_.data();
    return operation;
  }
  Status run(std::span<const Operation> operations) {
    execution_.begin(operations);
    Execution* const one = &execution_;
    return drive({&one, 1});
  }

  /// The token goes round: the first rank's `next` comes to all.
  Result<Lap> turn(Next next) {
    const int64_t began = now_ns();
    const Operation send = half(true, kSmall);
    const Operation receive = half(false, kSmall);
    if (first_) {
      std::memcpy(bytes_.data(), &next, sizeof next);
      WEIR_TRY(run({&send, 1}));
    }
    WEIR_TRY(run({&receive, 1}));
    std::memcpy(&next, arrived_.data(), sizeof next);
    if (!first_) {
      std::memcpy(bytes_.data(), &next, sizeof next);
      WEIR_TRY(run({&send, 1}));
    }
    return Lap{next, seconds(now_ns() - began)};
  }

  /// Everybody sends to the next at once, between two laps of the token: they begin together, and when the
  /// second is back, all have ended.
  Status least(double& best, size_t messages, size_t bytes) {
    std::vector<Operation> operations;
    for (size_t i = 0; i < messages; ++i) {
      operations.push_back(half(true, bytes));
      operations.push_back(half(false, bytes));
    }
    const int64_t began = now_ns();
    WEIR_TRY(turn(Next::on).status());
    WEIR_TRY(run(operations));
    WEIR_TRY(turn(Next::on).status());
    best = std::min(best, seconds(now_ns() - began));
    return {};
  }

  Execution& execution_;
  std::vector<std::byte> bytes_;
  std::vector<std::byte> arrived_ = std::vector<std::byte>(kLarge);
  const double ranks_;
  Rank next_ = 0;
  Rank previous_ = 0;
  bool first_ = false;
};

/// Seconds per byte of a sum, by a rank that has a core to itself.
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

/// Ranks of one host; or, if `host` is negative, the first of each of the first hosts.
std::vector<Rank> ring_of(const std::vector<int>& host_of, int host) {
  std::vector<Rank> ranks;
  std::vector<int> seen;
  for (Rank rank = 0; rank < static_cast<Rank>(host_of.size()); ++rank) {
    const int own = host_of[static_cast<size_t>(rank)];
    if (host >= 0 ? own != host : std::ranges::find(seen, own) != seen.end() || seen.size() == kMostHosts)
      continue;
    seen.push_back(own);
    ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace

Result<cost::Rates> calibrate(Execution& execution, Rank self, const cost::Surroundings& by_rank) {
  cost::Rates rates;
  const auto own = static_cast<size_t>(self);
  const auto inside = ring_of(by_rank.host_of, by_rank.host_of[own]);
  const auto between = ring_of(by_rank.host_of, -1);
  if (inside.front() == self) rates.gamma = measure_sums();
  if (inside.size() > 1) {
    Ring ring(execution, inside, self);
    auto channel = ring.measure();
    WEIR_TRY(channel.status());
    if (ring.first()) {
      const int machine = by_rank.machine_of[own];
      const double busy = static_cast<double>(std::ranges::count(by_rank.machine_of, machine));
      const double crowd = std::max(1.0, busy / by_rank.cores[static_cast<size_t>(machine)]);
      rates.inside = {channel->alpha, channel->overhead / crowd, channel->beta / crowd};
      // Who shares a core is measured too roughly for a message's work.
      if (crowd > 1) rates.inside.overhead = std::min(by_rank.rates.inside.overhead, channel->alpha);
    }
  }
  if (between.size() > 1 && std::ranges::find(between, self) != between.end()) {
    Ring ring(execution, between, self);
    auto channel = ring.measure();
    WEIR_TRY(channel.status());
    if (ring.first()) rates.between = *channel;
  }
  return rates;
}

}  // namespace weir::core
