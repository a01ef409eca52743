// SPDX-License-Identifier: Apache-2.0

#include "algorithms/msccl/connections.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace weir::msccl {
namespace {

using ir::Move;

constexpr Rank kNobody = -1;

/// What one GPU sends and receives.
struct Ports {
  using Peer = std::pair<Rank, int>;  // rank and channel
  std::vector<Peer> sends, receives;
  std::map<Peer, int> send_number, receive_number;
  std::map<std::pair<int, int>, int> sent_on;  // key: numbers of what is received and sent; how many moves
  std::set<int> local_lanes;

  static int number(std::vector<Peer>& peers, std::map<Peer, int>& numbers, Peer peer) {
    const auto [found, is_new] = numbers.try_emplace(peer, static_cast<int>(peers.size()));
    if (is_new) peers.push_back(peer);
    return found->second;
  }
  int send(Rank to, int channel) { return number(sends, send_number, {to, channel}); }
  int receive(Rank from, int channel) { return number(receives, receive_number, {from, channel}); }
};

/// The channel of each move where lanes share `most` channels: that of the value that it sends on, or that of
/// its lane.
std::vector<int> shared_channels(const ir::Plan& plan, const WorkOrder& order, int most) {
  std::vector<int> channel;
  for (size_t m = 0; m < plan.moves.size(); ++m) {
    const size_t maker = order.maker[m];
    channel.push_back(maker != kNoMove ? channel[maker] : plan.moves[m].src_lane % most);
  }
  return channel;
}

/// Whether no GPU has too many peers on a channel.
bool peers_fit(const ir::Plan& plan, const std::vector<int>& channel) {
  std::map<std::tuple<Rank, int, bool>, std::set<Rank>> peers;
  for (size_t m = 0; m < plan.moves.size(); ++m) {
    const Move& move = plan.moves[m];
    if (move.src == move.dst) continue;
    peers[{move.src, channel[m], true}].insert(move.dst);
    peers[{move.dst, channel[m], false}].insert(move.src);
  }
  return std::all_of(peers.begin(), peers.end(),
                     [](const auto& own) { return own.second.size() <= kMostPeersPerChannel; });
}

/// Divides every channel by the distance to the peer, in ranks: at most kMostPeersPerChannel peers each.
void spread(const ir::Plan& plan, std::vector<int>& channel) {
  const int ranks = plan.shape.ranks;
  const int parts = (ranks + kMostPeersPerChannel - 1) / kMostPeersPerChannel;
  for (size_t m = 0; m < plan.moves.size(); ++m) {
    const int distance = (plan.moves[m].dst - plan.moves[m].src + ranks) % ranks;
    channel[m] = channel[m] * parts + distance / kMostPeersPerChannel;
  }
}

/// Numbers the channels in use from 0; how many there are.
int renumber(const ir::Plan& plan, std::vector<int>& channel) {
  std::map<int, int> numbers;
  for (size_t m = 0; m < plan.moves.size(); ++m)
    if (plan.moves[m].src != plan.moves[m].dst) numbers.try_emplace(channel[m], 0);
  int next = 0;
  for (auto& [old, number] : numbers) number = next++;
  for (int& own : channel) {
    const auto found = numbers.find(own);
    own = found == numbers.end() ? 0 : found->second;
  }
  return std::max(next, 1);
}

std::vector<Ports> ports_of(const ir::Plan& plan, const WorkOrder& order, const std::vector<int>& channel) {
  std::vector<Ports> ports(static_cast<size_t>(plan.shape.ranks));
  for (size_t m = 0; m < plan.moves.size(); ++m) {
    const Move& move = plan.moves[m];
    Ports& source = ports[static_cast<size_t>(move.src)];
    if (move.src == move.dst) {
      source.local_lanes.insert(move.dst_lane);
      continue;
    }
    const int sent = source.send(move.dst, channel[m]);
    ports[static_cast<size_t>(move.dst)].receive(move.src, channel[m]);
    const size_t maker = order.maker[m];
    if (maker == kNoMove || channel[maker] != channel[m]) continue;
    ++source.sent_on[{source.receive(plan.moves[maker].src, channel[m]), sent}];
  }
  return ports;
}

/// The blocks of one GPU, and those of its sends; receive number r is in block r.
struct GpuBlocks {
  std::vector<MscclBlock> blocks;
  std::vector<int> of_send;
};

/// Sends take the block that receives most of what they send on; then, while there are too many blocks, any
/// block of their channel that sends nothing yet.
GpuBlocks blocks_for(const Ports& ports) {
  GpuBlocks result;
  for (const auto& [rank, channel] : ports.receives) result.blocks.push_back({kNobody, rank, channel, {}});
  result.of_send.assign(ports.sends.size(), -1);
  const auto place = [&](size_t send, size_t block) {
    result.of_send[send] = static_cast<int>(block);
    result.blocks[block].send = ports.sends[send].first;
  };
  std::vector<std::pair<int, std::pair<int, int>>> pairs;
  for (const auto& [pair, count] : ports.sent_on) pairs.emplace_back(-count, pair);
  std::sort(pairs.begin(), pairs.end());
  for (const auto& [count, pair] : pairs) {
    const auto [receive, send] = std::pair(static_cast<size_t>(pair.first), static_cast<size_t>(pair.second));
    if (result.of_send[send] < 0 && result.blocks[receive].send == kNobody) place(send, receive);
  }
  size_t total = result.blocks.size() +
                 static_cast<size_t>(std::count(result.of_send.begin(), result.of_send.end(), -1));
  for (size_t send = 0; send < ports.sends.size(); ++send) {
    if (result.of_send[send] >= 0) continue;
    const auto [rank, channel] = ports.sends[send];
    size_t block = result.blocks.size();
    if (total > kMostBlocks) {
      block = 0;
      while (block < result.blocks.size() &&
             (result.blocks[block].send != kNobody || result.blocks[block].channel != channel))
        ++block;
      if (block < result.blocks.size()) --total;
    }
    if (block == result.blocks.size()) result.blocks.push_back({kNobody, kNobody, channel, {}});
    place(send, block);
  }
  return result;
}

/// The block of each local lane: one of its own while there is room.
std::map<int, int> local_blocks(const Ports& ports, std::vector<MscclBlock>& blocks) {
  const size_t room = blocks.size() < kMostBlocks ? kMostBlocks - blocks.size() : 0;
  const size_t own = std::min(room, ports.local_lanes.size());
  const size_t first = own > 0 ? blocks.size() : 0;
  for (size_t b = 0; b < own; ++b) blocks.push_back({kNobody, kNobody, 0, {}});
  std::map<int, int> of_lane;
  size_t next = 0;
  for (const int lane : ports.local_lanes)
    of_lane[lane] = static_cast<int>(first + next++ % (blocks.size() - first));
  return of_lane;
}

/// With these channels. Errors: invalid_argument if a GPU has too many blocks.
Status fill(const ir::Plan& plan, const std::vector<Ports>& ports, Connections& result) {
  std::vector<GpuBlocks> gpus;
  for (const Ports& own : ports) gpus.push_back(blocks_for(own));
  const auto largest = std::max_element(gpus.begin(), gpus.end(), [](const GpuBlocks& a, const GpuBlocks& b) {
    return a.blocks.size() < b.blocks.size();
  });
  if (largest->blocks.size() > kMostBlocks)
    return {Code::invalid_argument,
            fmt::format("GPU {} needs {} thread blocks, because a block of MSCCL sends to one peer and "
                        "receives from one; expected at most {}",
                        largest - gpus.begin(), largest->blocks.size(), kMostBlocks)};
  std::vector<std::map<int, int>> locals;
  for (size_t gpu = 0; gpu < ports.size(); ++gpu)
    locals.push_back(local_blocks(ports[gpu], gpus[gpu].blocks));
  for (size_t m = 0; m < plan.moves.size(); ++m) {
    const Move& move = plan.moves[m];
    const auto source = static_cast<size_t>(move.src), destination = static_cast<size_t>(move.dst);
    if (move.src == move.dst) {
      result.send_in.push_back(locals[source].at(move.dst_lane));
      result.receive_in.push_back(result.send_in.back());
      continue;
    }
    const int send = ports[source].send_number.at({move.dst, result.channel[m]});
    result.send_in.push_back(gpus[source].of_send[static_cast<size_t>(send)]);
    result.receive_in.push_back(ports[destination].receive_number.at({move.src, result.channel[m]}));
  }
  for (GpuBlocks& own : gpus) result.gpus.push_back(std::move(own.blocks));
  return {};
}

}  // namespace

Result<Connections> connect(const ir::Plan& plan, const WorkOrder& order) {
  for (int most = ir::kMaxLanes;; most /= 2) {
    Connections result;
    result.channel = shared_channels(plan, order, most);
    if (!peers_fit(plan, result.channel)) spread(plan, result.channel);
    result.channels = renumber(plan, result.channel);
    if (result.channels > kMostChannels && most > 1) continue;
    const Status filled = fill(plan, ports_of(plan, order, result.channel), result);
    if (filled.ok()) return result;
    if (most == 1) return filled;
  }
}

}  // namespace weir::msccl
