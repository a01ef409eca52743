// SPDX-License-Identifier: Apache-2.0

#include "algorithms/sim/rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "algorithms/ir/symbolic.h"
#include "src/base/index.h"

namespace weir::sim {
namespace {

Result<Timeline> simulate_once(const Round& round, const Network& network, FlowRoutes& routes,
                               const Channels& channels) {
  FlowSet flows(network, channels.hop_latency);
  for (const RoundTransfer& transfer : round.transfers) {
    auto route = routes.route(transfer.src, transfer.dst, transfer.channel, transfer.way);
    WEIR_TRY(route.status());
    flows.add({flows.path(*route), transfer.bytes, channels.alpha, channels.pace, channels.window});
  }
  return flows.simulate();
}

/// The number of rounds that must be over before a value or a chunk of memory is available.
class Depths {
 public:
  explicit Depths(const ir::Plan& plan)
      : plan_(plan),
        map_(plan.shape, plan.scratch_chunks, ir::Placement::apart),
        made_(plan.moves.size()),
        written_(map_.size()),
        read_(map_.size()) {}

  /// The round of a move; to be called in list order.
  int32_t next(size_t number) {
    const ir::Move& move = plan_.moves[number];
    const int32_t start = of(move.src, move.from, move.chunks);
    int32_t end = std::max(start + (move.src == move.dst ? 0 : 1), of(move.dst, move.with, move.chunks));
    each(move.dst, move.to, move.chunks, [&](size_t place) {
      end = std::max({end, read_[place], written_[place]});
    });
    each(move.src, move.from, move.chunks, [&](size_t p) { read_[p] = std::max(read_[p], start + 1); });
    each(move.dst, move.with, move.chunks, [&](size_t p) { read_[p] = std::max(read_[p], end); });
    each(move.dst, move.to, move.chunks, [&](size_t place) { written_[place] = end; });
    made_[number] = end;
    return end - 1;
  }

 private:
  template <typename Visit>
  void each(Rank rank, ir::Operand operand, uint32_t chunks, Visit&& visit) {
    if (!operand.in_memory()) return;
    const size_t first = map_.place(rank, operand);
    for (size_t place = first; place < first + chunks; ++place) visit(place);
  }
  int32_t of(Rank rank, ir::Operand operand, uint32_t chunks) {
    if (operand.kind == ir::Operand::Kind::value) return made_[operand.index];
    int32_t depth = 0;
    each(rank, operand, chunks, [&](size_t place) { depth = std::max(depth, written_[place]); });
    return depth;
  }

  const ir::Plan& plan_;
  const ir::MemoryMap map_;
  std::vector<int32_t> made_;     // index: move
  std::vector<int32_t> written_;  // index: position
  std::vector<int32_t> read_;     // index: position; the end of the last reader's round
};

}  // namespace

Result<Prediction> simulate(std::span<const Round> rounds, double bytes, const Network& network,
                            FlowRoutes& routes, const Channels& channels) {
  Prediction sum;
  sum.edge_bytes.resize(network.edges.size());
  std::vector<std::pair<const Round*, Timeline>> known;
  for (const Round& round : rounds) {
    if (round.times < 0) {
      return Status(Code::invalid_argument,
                    fmt::format("a round that is repeated {} times: expected 0 or more", round.times));
    }
    auto same = std::find_if(known.begin(), known.end(),
                             [&](const auto& entry) { return entry.first->transfers == round.transfers; });
    if (same == known.end()) {
      auto timeline = simulate_once(round, network, routes, channels);
      WEIR_TRY(timeline.status());
      sum.flows += static_cast<int64_t>(round.transfers.size());
      known.emplace_back(&round, std::move(*timeline));
      same = known.end() - 1;
    }
    const auto times = static_cast<double>(round.times);
    sum.seconds += times * same->second.seconds;
    for (size_t e = 0; e < sum.edge_bytes.size(); ++e)
      sum.edge_bytes[e] += times * same->second.edge_bytes[e];
  }
  if (sum.seconds > 0) sum.algbw = bytes / sum.seconds / 1e9;
  return sum;
}

std::vector<Round> ring_rounds(Collective kind, std::span<const std::vector<Rank>> orders, double bytes) {
  const size_t ranks = orders.front().size();
  const double share = bytes / static_cast<double>(ranks) / static_cast<double>(orders.size());
  Round round;
  for (size_t ring = 0; ring < orders.size(); ++ring) {
    for (size_t i = 0; i < ranks; ++i) {
      round.transfers.push_back(
          {orders[ring][i], orders[ring][(i + 1) % ranks], share, static_cast<uint32_t>(ring)});
    }
  }
  round.times = static_cast<int64_t>(ranks - 1) * (kind == Collective::all_reduce ? 2 : 1);
  return {round};
}

std::vector<Round> rounds_of(const ir::Plan& plan, double bytes) {
  const double chunk = tile(plan, bytes, {}).chunk_bytes;
  const std::vector<int32_t> numbers = round_numbers(plan);
  std::vector<Round> levels;
  for (size_t m = 0; m < plan.moves.size(); ++m) {
    const ir::Move& move = plan.moves[m];
    if (move.src == move.dst) continue;
    const int32_t level = numbers[m];
    if (at(level) >= levels.size()) levels.resize(at(level) + 1);
    levels[at(level)].transfers.push_back({move.src, move.dst, chunk * move.chunks, 0, move.way});
  }
  std::vector<Round> rounds;
  for (Round& level : levels) {
    std::sort(level.transfers.begin(), level.transfers.end(),
              [](const RoundTransfer& a, const RoundTransfer& b) {
                return std::tuple(a.src, a.dst, a.way, a.bytes) < std::tuple(b.src, b.dst, b.way, b.bytes);
              });
    if (!rounds.empty() && rounds.back().transfers == level.transfers) {
      ++rounds.back().times;
    } else {
      rounds.push_back(std::move(level));
    }
  }
  return rounds;
}

std::vector<int32_t> round_numbers(const ir::Plan& plan) {
  Depths depths(plan);
  std::vector<int32_t> numbers(plan.moves.size());
  for (size_t m = 0; m < plan.moves.size(); ++m) numbers[m] = depths.next(m);
  return numbers;
}

}  // namespace weir::sim
