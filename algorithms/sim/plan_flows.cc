// SPDX-License-Identifier: Apache-2.0

#include "algorithms/sim/plan_flows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "algorithms/ir/symbolic.h"
#include "algorithms/sim/paces.h"
#include "src/base/index.h"

namespace weir::sim {
namespace {

using ir::Move;
using ir::Operand;
using Kind = Operand::Kind;

/// A channel from one lane to another.
struct Channel {
  PathId path = kNoPath;
  double latency = 0;
  double pace = 0;
  size_t abreast = 1;  // number of messages that share the path
  size_t messages = 0;
};

class Translation {
 public:
  Translation(const ir::Plan& plan, const Tiling& tiling, const Network& network, FlowRoutes& routes,
              const Channels& channels, Paces paces)
      : plan_(plan),
        tiling_(tiling),
        channels_(channels),
        paces_(std::move(paces)),
        routes_(routes),
        map_(plan.shape, plan.scratch_chunks, ir::Placement::apart),
        result_{FlowSet(network, channels.hop_latency, channels.burst), {}},
        lanes_(at(plan.shape.ranks) * ir::kMaxLanes, {kNobody}),
        made_(plan.moves.size()),
        written_(map_.size(), kNobody),
        read_(map_.size()) {}

  Result<PlanFlows> translate(int64_t passes) {
    size_t flows_of_pass = 0;
    for (const Move& move : plan_.moves) flows_of_pass += move.src == move.dst ? 1 : 2;
    flows().reserve(flows_of_pass * static_cast<size_t>(passes));
    for (int64_t pass = 0; pass < passes; ++pass) {
      tile_ = pass + 1 < passes ? tiling_.tile_bytes : tiling_.last_bytes();
      for (uint32_t m = 0; m < plan_.moves.size(); ++m) WEIR_TRY(add(m));
      result_.pass_ends.push_back(static_cast<FlowId>(flows().size()));
    }
    return std::move(result_);
  }

 private:
  static constexpr FlowId kNobody = UINT32_MAX;

  FlowSet& flows() { return result_.flows; }
  const FlowSet& flows() const { return result_.flows; }
  Wait& lane(Rank rank, uint8_t number) { return lanes_[at(rank) * ir::kMaxLanes + number]; }

  void wait(FlowId flow, const Wait& what) {
    if (what.flow != kNobody) flows().wait(flow, what);
  }

  Status add(uint32_t m) {
    const Move& move = plan_.moves[m];
    if (move.src == move.dst) {
      const FlowId done = flows().add({});
      read(done, move.src, move.from, move.chunks, {done}, 0);
      arrive(m, done);
      return {};
    }
    auto channel = channel_of(move);
    WEIR_TRY(channel.status());
    move.pull ? pull(m, **channel) : send(m, **channel);
    return {};
  }

  void send(uint32_t m, Channel& channel) {
    const Move& move = plan_.moves[m];
    Flow flow = flow_of(move, channel);
    flow.stream = stream_of(channel);
    flow.shares = channels_.connections / static_cast<int32_t>(channel.abreast);
    const FlowId message = flows().add(flow);
    wait(message, lane(move.src, move.src_lane));
    lane(move.src, move.src_lane) = {message, FlowEvent::started};
    read(message, move.src, move.from, move.chunks, {message, FlowEvent::started}, 0);
    FlowId& slot =
        taken_[number_of(channel) * at(channels_.slots) + channel.messages++ % at(channels_.slots)];
    wait(message, {slot, FlowEvent::ended, channel.latency});
    slot = flows().add({});
    wait(slot, {message});
    arrive(m, slot);
  }

  /// The reader's request takes the reverse path after the writer of the memory has permitted it.
  void pull(uint32_t m, const Channel& channel) {
    const Move& move = plan_.moves[m];
    Flow flow = flow_of(move, channel);
    flow.alpha += channel.latency;
    const FlowId message = flows().add(flow);
    read(message, move.src, move.from, move.chunks, {message, FlowEvent::ended, channel.latency},
         channel.latency);
    wait(message, lane(move.dst, move.dst_lane));
    const FlowId done = flows().add({});
    wait(done, {message});
    arrive(m, done);
  }

  /// `done` is when the value is made at the destination.
  void arrive(uint32_t m, FlowId done) {
    const Move& move = plan_.moves[m];
    wait(done, lane(move.dst, move.dst_lane));
    lane(move.dst, move.dst_lane) = {done};
    read(done, move.dst, move.with, move.chunks, {done}, 0);
    made_[m] = done;
    if (!move.to.in_memory()) return;
    const size_t first = map_.place(move.dst, move.to);
    for (size_t place = first; place < first + move.chunks; ++place) {
      wait_once(done, {written_[place]});
      for (const Wait& reader : read_[place]) {
        if (reader.flow != done) wait_once(done, reader);
      }
      read_[place].clear();
      written_[place] = done;
    }
  }

  /// `flow` needs the operand, some time after it was written, and has finished with it at `through`.
  void read(FlowId flow, Rank rank, Operand operand, uint32_t chunks, Wait through, double delay) {
    if (operand.kind == Kind::value) wait(flow, {made_[operand.index], FlowEvent::ended, delay});
    if (!operand.in_memory()) return;
    const size_t first = map_.place(rank, operand);
    for (size_t place = first; place < first + chunks; ++place) {
      wait_once(flow, {written_[place], FlowEvent::ended, delay});
      if (operand.kind != Kind::input) read_[place].push_back(through);
    }
  }

  /// Adjacent chunks were often written by one move.
  void wait_once(FlowId flow, const Wait& what) {
    if (flow == last_waiter_ && what.flow == last_what_) return;
    last_waiter_ = flow;
    last_what_ = what.flow;
    wait(flow, what);
  }

  Flow flow_of(const Move& move, const Channel& channel) const {
    return {channel.path, tile_ * move.chunks, channels_.alpha, channel.pace, channels_.window};
  }

  size_t number_of(const Channel& channel) const {
    return static_cast<size_t>(&channel - channel_list_.data());
  }

  /// Alternates if connections wait at the sender's own link; messages that wait further on keep their order.
  size_t abreast_on(std::span<const int32_t> path) const {
    const auto capacity = [&](int32_t edge) { return flows().network().edges[at(edge)].capacity; };
    const bool own =
        std::ranges::all_of(path, [&](int32_t edge) { return capacity(path[0]) <= capacity(edge); });
    return own ? at(channels_.connections) : 1;
  }

  /// The path of the channel's next message.
  int32_t stream_of(const Channel& channel) {
    const size_t connection = channel.messages % channel.abreast;
    int32_t& stream = streams_[number_of(channel) * at(channels_.connections) + connection];
    if (stream < 0) stream = streams_used_++;
    return stream;
  }

  Result<Channel*> channel_of(const Move& move) {
    const uint32_t number = uint32_t{move.src_lane} * ir::kMaxLanes + move.dst_lane;
    const uint64_t key = static_cast<uint64_t>(move.src) << 40 | static_cast<uint64_t>(move.dst) << 16 |
                         number | static_cast<uint64_t>(move.way) << 61;
    const auto [entry, fresh] = channel_numbers_.try_emplace(key, channel_list_.size());
    if (fresh) {
      auto route = routes_.route(move.src, move.dst, number, move.way);
      WEIR_TRY(route.status());
      Channel& channel = channel_list_.emplace_back();
      taken_.resize(channel_list_.size() * at(channels_.slots), kNobody);
      streams_.resize(channel_list_.size() * at(channels_.connections), -1);
      channel.path = flows().path(*route);
      channel.latency = flows().latency(channel.path);
      channel.pace = pace_of(move);
      channel.abreast = abreast_on(*route);
    }
    return &channel_list_[entry->second];
  }

  /// In GB/s.
  double pace_of(const Move& move) const {
    const double share = paces_.of(move.src, move.src_lane, move.dst, move.dst_lane) / 1e9;
    return share > 0 && channels_.pace > 0 ? std::min(share, channels_.pace)
                                           : std::max(share, channels_.pace);
  }

  const ir::Plan& plan_;
  const Tiling tiling_;
  const Channels& channels_;
  const Paces paces_;
  FlowRoutes& routes_;
  const ir::MemoryMap map_;
  PlanFlows result_;
  double tile_ = 0;
  std::vector<Channel> channel_list_;
  std::unordered_map<uint64_t, size_t> channel_numbers_;
  std::vector<FlowId> taken_;     // index: channel and slot; when the receiver took its last message
  std::vector<int32_t> streams_;  // index: channel and connection; -1: none yet
  int32_t streams_used_ = 0;
  std::vector<Wait> lanes_;              // the event for which the lane's next move waits
  std::vector<FlowId> made_;             // index: move; its value, in this pass
  std::vector<FlowId> written_;          // index: position in memory
  std::vector<std::vector<Wait>> read_;  // index: position; reads since it was written
  FlowId last_waiter_ = kNobody;
  FlowId last_what_ = kNobody;
};

constexpr double kMostPasses = 1e15;  // can be counted in doubles

}  // namespace

Tiling tile(const ir::Plan& plan, double bytes, const Channels& channels) {
  int blocks = 1;
  for (Rank rank = 0; rank < plan.shape.ranks; ++rank) {
    blocks = std::max({blocks, input_blocks(plan.shape, rank), output_blocks(plan.shape, rank)});
  }
  Tiling tiling;
  tiling.chunk_bytes = bytes / blocks / plan.shape.chunks;
  tiling.tile_bytes = tiling.chunk_bytes;
  tiling.passes = 1;
  uint32_t longest = 1;
  for (const Move& move : plan.moves) longest = std::max(longest, move.chunks);
  if (!(channels.slot_bytes > 0 && tiling.chunk_bytes * longest > channels.slot_bytes)) return tiling;
  tiling.tile_bytes = channels.slot_bytes / longest;
  const double passes = std::ceil(tiling.chunk_bytes / tiling.tile_bytes - 1e-9);
  tiling.passes = static_cast<int64_t>(std::min(passes, kMostPasses));
  return tiling;
}

Result<PlanFlows> plan_flows(const ir::Plan& plan, const Tiling& tiling, int64_t passes,
                             const Network& network, FlowRoutes& routes, const Channels& channels) {
  const auto wrong = [](std::string message) { return Status(Code::invalid_argument, std::move(message)); };
  if (plan.shape.ranks != network.ranks()) {
    return wrong(fmt::format("a plan for {} ranks on a network of {}: expected equal numbers",
                             plan.shape.ranks, network.ranks()));
  }
  if (!is_sound(tiling.chunk_bytes)) {
    return wrong(fmt::format("chunks of {} bytes: expected 0 or more", tiling.chunk_bytes));
  }
  for (const auto& [figure, word] : {std::pair{channels.hop_latency, "a hop latency"},
                                     {channels.alpha, "an alpha"},
                                     {channels.slot_bytes, "slot bytes"},
                                     {channels.pace, "a pace"},
                                     {channels.window, "a window"},
                                     {channels.burst, "a burst"}}) {
    if (!is_sound(figure))
      return wrong(fmt::format("channels with {} of {}: expected 0 or more", word, figure));
  }
  if (channels.slots < 1) {
    return wrong(fmt::format("channels with {} slots: expected at least 1", channels.slots));
  }
  if (channels.connections < 1) {
    return wrong(fmt::format("channels with {} connections: expected at least 1", channels.connections));
  }
  auto paces = channels.paced ? Paces::over(plan, network) : Result<Paces>(Paces());
  WEIR_TRY(paces.status());
  return Translation(plan, tiling, network, routes, channels, std::move(*paces)).translate(passes);
}

}  // namespace weir::sim
