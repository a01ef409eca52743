// SPDX-License-Identifier: Apache-2.0

#include "algorithms/cost/profile.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weir::cost {
namespace {

using ir::Move;
using ir::Operand;

/// A time on both clocks, which are independent: the later of two times is the later one on each clock.
struct Times {
  double seconds = 0;
  double per_byte = 0;  ///< seconds per byte of a chunk
};
Times latest(const Times& a, const Times& b) {
  return {std::max(a.seconds, b.seconds), std::max(a.per_byte, b.per_byte)};
}
Times operator+(const Times& a, const Times& b) { return {a.seconds + b.seconds, a.per_byte + b.per_byte}; }

/// Seconds per byte of a message.
class Betas {
 public:
  explicit Betas(const Environment& around)
      : around_(around),
        links_(around.links.get()),
        ends_(std::max(0.0,
                       around.rates.between.beta - (links_ == nullptr ? 0 : links_->slowest_neighbours()))),
        cores_(std::max(0.0, std::min(ends_, around.rates.between.beta - around.rates.between.wire))) {}
  bool inside(Rank src, Rank dst) const {
    return around_.host_of[static_cast<size_t>(src)] == around_.host_of[static_cast<size_t>(dst)];
  }
  /// Until all of it has arrived.
  double under_way(Rank src, Rank dst) const {
    if (inside(src, dst)) return around_.rates.inside.beta;
    return links_ == nullptr ? ends_ : ends_ + links_->per_byte(src, dst);
  }
  /// Time for which `end` cannot send or receive anything else: a later link may be slower than its own link.
  double busy(Rank end, bool inside) const {
    if (inside) return around_.rates.inside.beta;
    return links_ == nullptr ? ends_ : ends_ + links_->fastest(end);
  }
  /// Time for which a core cannot do anything else.
  double work(bool inside) const { return inside ? around_.rates.inside.beta : cores_; }

 private:
  const Environment& around_;
  const NetworkLinks* links_;
  double ends_;   ///< between hosts: work of both ends; if no links are known, of the links too
  double cores_;  ///< between hosts: work of the cores of both ends
};

/// The times of lanes, values and memory of all ranks while moves are carried out.
class Clocks {
 public:
  Clocks(const ir::Plan& plan, const Environment& around) : plan_(plan), around_(around), betas_(around) {
    const auto ranks = static_cast<size_t>(plan.shape.ranks);
    lanes_.resize(ranks * ir::kMaxLanes);
    values_.resize(plan.moves.size());
    int blocks = 0;
    for (Rank rank = 0; rank < plan.shape.ranks; ++rank)
      blocks = std::max(blocks, ir::output_blocks(plan.shape, rank));
    outputs_ = static_cast<size_t>(blocks) * plan.shape.chunks;
    memory_.resize(ranks * (outputs_ + plan.scratch_chunks));
  }

  /// Carries out all moves again. Returns when the last one is done, and when ranks whose memory was pulled
  /// know it.
  Times pass() {
    for (size_t i = 0; i < plan_.moves.size(); ++i) step(plan_.moves[i], values_[i]);
    if (drain_ == 0) return end_;
    end_.seconds += drain_;
    for (Times& lane : lanes_) lane.seconds = end_.seconds;
    return end_;
  }

 private:
  void step(const Move& move, Times& value) {
    const Times there = move.src == move.dst ? locally(move) : arrival(move);
    const bool sums = move.with.kind != Operand::Kind::none;
    value = latest(there, ready(move.dst, move.with, move.chunks)) +
            Times{0, sums ? around_.rates.gamma * move.chunks : 0};
    lane(move.dst, move.dst_lane) = value;
    keep(move, value);
    end_ = latest(end_, value);
  }

  Times locally(const Move& move) {
    const bool copies = move.with.kind == Operand::Kind::none && move.from.in_memory();
    return latest(lane(move.dst, move.dst_lane), ready(move.src, move.from, move.chunks)) +
           Times{0, copies ? around_.rates.gamma * move.chunks : 0};
  }

  /// When the receiver's lane has taken the bytes.
  Times arrival(const Move& move) {
    const bool inside = betas_.inside(move.src, move.dst);
    const ChannelRates& channel = inside ? around_.rates.inside : around_.rates.between;
    const double chunks = move.chunks;
    const double per_byte = betas_.under_way(move.src, move.dst) * chunks;
    const Times& receiver = lane(move.dst, move.dst_lane);
    const Times known = ready(move.src, move.from, move.chunks);
    if (move.pull) {  // the permission has arrived; the bytes come from the peer's memory, not from a slot
      drain_ = std::max(drain_, channel.alpha);
      return latest(known + Times{channel.alpha, 0}, receiver) + Times{channel.overhead, per_byte};
    }
    const auto half = [&](Rank end) {
      return Times{channel.overhead / 2, betas_.busy(end, inside) / 2 * chunks};
    };
    Times& sender = lane(move.src, move.src_lane);
    const Times start = latest(known, sender);
    sender = start + half(move.src);
    return latest(start + Times{channel.alpha, per_byte}, receiver + half(move.dst));
  }

  Times& lane(Rank rank, uint8_t lane) { return lanes_[static_cast<size_t>(rank) * ir::kMaxLanes + lane]; }

  /// Times of the first chunk; null for inputs and values, which are never overwritten.
  Times* memory(Rank rank, const Operand& place) {
    if (place.kind != Operand::Kind::output && place.kind != Operand::Kind::scratch) return nullptr;
    const size_t before = place.kind == Operand::Kind::scratch ? outputs_ : 0;
    return &memory_[static_cast<size_t>(rank) * (outputs_ + plan_.scratch_chunks) + before + place.index];
  }
  Times ready(Rank rank, const Operand& from, uint32_t chunks) {
    if (from.kind == Operand::Kind::value) return values_[from.index];
    Times all;
    if (const Times* first = memory(rank, from); first != nullptr) {
      for (uint32_t i = 0; i < chunks; ++i) all = latest(all, first[i]);
    }
    return all;
  }
  void keep(const Move& move, const Times& value) {
    if (Times* first = memory(move.dst, move.to); first != nullptr) std::fill_n(first, move.chunks, value);
  }

  const ir::Plan& plan_;
  const Environment& around_;
  const Betas betas_;
  std::vector<Times> lanes_;
  std::vector<Times> values_;  ///< index: move
  std::vector<Times> memory_;  ///< index: rank; output, then scratch
  size_t outputs_ = 0;         ///< number of output chunks per rank
  double drain_ = 0;           ///< seconds of the drain in plans that pull
  Times end_;
};

/// The work of a pass, summed for each resource.
class Load {
 public:
  explicit Load(const Environment& around)
      : around_(around), betas_(around), ranks_(around.host_of.size()), machines_(around.cores.size()) {
    if (around.links != nullptr) edges_.resize(around.links->edges());
    for (const Border& border : around.borders) {
      const int groups = *std::max_element(border.group_of.begin(), border.group_of.end()) + 1;
      out_.emplace_back(static_cast<size_t>(groups));
      in_.emplace_back(static_cast<size_t>(groups));
    }
  }

  void add(const Move& move) {
    const auto src = static_cast<size_t>(move.src);
    const auto dst = static_cast<size_t>(move.dst);
    const double chunks = move.chunks;
    const bool sums = move.with.kind != Operand::Kind::none;
    if (sums || (src == dst && move.from.in_memory())) {
      const double seconds = around_.rates.gamma * chunks;
      work(dst, 0, seconds, seconds);
    }
    if (src == dst) return;
    const bool inside = betas_.inside(move.src, move.dst);
    const double overhead = (inside ? around_.rates.inside : around_.rates.between).overhead;
    for (const Rank end : {move.src, move.dst}) {
      // A pull is announced, and drained at the end: two messages without bytes.
      const double part = !move.pull ? 0.5 : end == move.dst ? 1 : 0;
      work(static_cast<size_t>(end), move.pull ? overhead : overhead / 2,
           part * betas_.busy(end, inside) * chunks, part * betas_.work(inside) * chunks);
    }
    if (!inside && around_.links != nullptr) {
      for (const int32_t edge : around_.links->route(move.src, move.dst))
        edges_[static_cast<size_t>(edge)] += around_.links->of_edge(edge) * chunks;
    }
    for (size_t b = 0; b < around_.borders.size(); ++b) {
      const Border& border = around_.borders[b];
      if (border.group_of[src] == border.group_of[dst]) continue;
      const auto beta = [&](Rank end) { return border.beta > 0 ? border.beta : betas_.busy(end, false); };
      out_[b][static_cast<size_t>(border.group_of[src])] += beta(move.src) * chunks;
      in_[b][static_cast<size_t>(border.group_of[dst])] += beta(move.dst) * chunks;
    }
  }

  Pass most() const {
    Times most;
    for (const Times& rank : ranks_) most = latest(most, rank);
    for (size_t m = 0; m < machines_.size(); ++m) {
      const double cores = std::max(around_.cores[m], 1);
      most = latest(most, {machines_[m].seconds / cores, machines_[m].per_byte / cores});
    }
    most = latest(most, {0, busiest()});
    return {most.seconds, most.per_byte};
  }

  double busiest() const {
    double most = 0;
    for (const auto* sides : {&out_, &in_}) {
      for (const std::vector<double>& groups : *sides) {
        for (const double group : groups) most = std::max(most, group);
      }
    }
    for (const double edge : edges_) most = std::max(most, edge);
    return most;
  }
  double across() const {
    double all = std::reduce(edges_.begin(), edges_.end());
    for (const std::vector<double>& groups : out_) all += std::reduce(groups.begin(), groups.end());
    return all;
  }

 private:
  /// Seconds, and seconds per byte, for which the rank is busy and for which a core is busy.
  void work(size_t rank, double seconds, double busy, double core) {
    ranks_[rank] = ranks_[rank] + Times{seconds, busy};
    Times& machine = machines_[static_cast<size_t>(around_.machine_of[rank])];
    machine = machine + Times{seconds, core};
  }

  const Environment& around_;
  const Betas betas_;
  std::vector<Times> ranks_;
  std::vector<Times> machines_;
  std::vector<std::vector<double>> out_;  ///< index: border and group; seconds per byte of a chunk
  std::vector<std::vector<double>> in_;
  std::vector<double> edges_;  ///< index: link; seconds per byte of a chunk
};

/// Whether several ranks of other hosts send to one rank.
bool flows_merge(const ir::Plan& plan, const Environment& around) {
  std::vector<Rank> known(static_cast<size_t>(plan.shape.ranks), -1);
  for (const Move& move : plan.moves) {
    Rank& sender = known[static_cast<size_t>(move.dst)];
    if (around.host_of[static_cast<size_t>(move.src)] == around.host_of[static_cast<size_t>(move.dst)])
      continue;
    if (sender >= 0 && sender != move.src) return true;
    sender = move.src;
  }
  return false;
}

/// 1 - 1/m if ranks share m cores; the maximum over all machines.
double shared_part(const Environment& around) {
  double most = 0;
  for (size_t m = 0; m < around.cores.size(); ++m) {
    const auto ranks = std::ranges::count(around.machine_of, static_cast<int>(m));
    if (ranks > around.cores[m]) most = std::max(most, 1 - 1.0 / std::max(around.cores[m], 1));
  }
  return most;
}

}  // namespace

Environment regular(int places, int per_host, int cores_per_host, const Rates& rates) {
  Environment around;
  for (int place = 0; place < places; ++place) around.host_of.push_back(place / per_host);
  around.machine_of = around.host_of;
  around.cores.assign(static_cast<size_t>(around.host_of.back() + 1), cores_per_host);
  if (around.cores.size() > 1) around.borders.push_back({around.host_of, 0});
  around.rates = rates;
  around.slot_bytes = size_t{64} << 10;
  return around;
}

Profile profile_of(const ir::Plan& plan, const Environment& around) {
  Clocks clocks(plan, around);
  const Times one = clocks.pass();
  const Times two = clocks.pass();
  Load load(around);
  uint32_t message = 1;
  bool pulls = false;
  for (const Move& move : plan.moves) {
    load.add(move);
    if (move.src == move.dst) continue;
    pulls = pulls || move.pull;
    if (!move.pull) message = std::max(message, move.chunks);
  }
  Profile profile;
  profile.first = {one.seconds, one.per_byte};
  profile.further = {two.seconds - one.seconds, two.per_byte - one.per_byte};
  profile.load = load.most();
  profile.busiest = load.busiest();
  profile.across = load.across();
  profile.shared = shared_part(around);
  profile.chunks = plan.shape.chunks;
  profile.tile_bytes = static_cast<double>(around.slot_bytes) / message;
  if (pulls) {
    const auto room = static_cast<double>(around.scratch_bytes) / std::max(plan.scratch_chunks, 1u);
    profile.tile_bytes = std::min(profile.tile_bytes, room);
  }
  profile.merging = flows_merge(plan, around) ? around.rates.between.merging : 0;
  profile.unasked = around.rates.between.unasked / message;
  return profile;
}

double predict(const Profile& profile, double bytes, int divisor) {
  const double chunk = bytes / profile.chunks;
  const double passes = std::max(1.0, std::ceil(chunk / std::max(profile.tile_bytes / divisor, 1.0)));
  const double tile = chunk / passes;
  const double chain = profile.first.seconds + (passes - 1) * profile.further.seconds;
  const double latency = std::max(chain, passes * profile.load.seconds + profile.shared * chain);
  // No pass takes less time than its load.
  const double moving = (std::max(profile.first.per_byte, profile.load.per_byte) +
                         (passes - 1) * std::max(profile.further.per_byte, profile.load.per_byte)) *
                        tile;
  const double asked = 1 - std::min(profile.unasked / std::max(tile, 1.0), 1.0);
  return latency + moving * (1 + profile.merging * asked);
}

}  // namespace weir::cost
