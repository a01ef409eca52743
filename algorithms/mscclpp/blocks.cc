// SPDX-License-Identifier: Apache-2.0

#include "algorithms/mscclpp/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "algorithms/ir/symbolic.h"
#include "algorithms/msccl/blocks.h"
#include "algorithms/mscclpp/block_writer.h"
#include "algorithms/mscclpp/placement.h"

namespace weir::mscclpp {
namespace {

using ir::Move;
using msccl::receiving;
using msccl::sending;

/// The channels of one block, as positions in ThreadBlock::channels.
struct Ends {
  std::array<std::map<int, int>, 2> position;  // by type and GpuBlocks::peers
  std::array<std::vector<int>, 2> sends;       // by type
  std::array<std::vector<int>, 2> receives;    // by type
};

/// Two blocks that a channel connects; the lower rank first.
using ChannelKey = std::tuple<Rank, int, Rank, int>;

class Compiler {
 public:
  Compiler(const ir::Plan& plan, std::span<const int> hosts, const msccl::WorkOrder& order,
           const Values& values, const BlockPlacement& placement)
      : plan_(plan),
        hosts_(hosts),
        order_(order),
        values_(values),
        placement_(placement),
        map_(plan.shape, static_cast<uint32_t>(*std::ranges::max_element(values.scratch)),
             msccl::tightest_placement(plan.shape)) {
    result_.shape = plan.shape;
    for (size_t rank = 0; rank < placement.blocks.size(); ++rank) {
      GpuBlocks& gpu = result_.gpus.emplace_back();
      gpu.scratch_chunks = values.scratch[rank];
      gpu.semaphores.assign(static_cast<size_t>(placement.semaphores[rank]), 0);
      gpu.blocks.resize(placement.blocks[rank]);
      ends_.emplace_back(placement.blocks[rank]);
    }
  }

  ExecutionPlan compile() {
    for (size_t move = 0; move < plan_.moves.size(); ++move)
      if (plan_.moves[move].src != plan_.moves[move].dst) connect(move);
    for (Rank rank = 0; rank < plan_.shape.ranks; ++rank) begin(rank);
    for (size_t work = 0; work < placement_.block.size(); ++work)
      if (placement_.block[work] >= 0) do_work(work);
    for (auto& [key, channels] : unflushed_) writer(key.first, key.second).flush(channels);
    return std::move(result_);
  }

 private:
  GpuBlocks& gpu(Rank rank) { return result_.gpus[static_cast<size_t>(rank)]; }
  ThreadBlock& block(Rank rank, int number) { return gpu(rank).blocks[static_cast<size_t>(number)]; }
  BlockWriter& writer(Rank rank, int number) {
    return writers_[static_cast<size_t>(rank)][static_cast<size_t>(number)];
  }
  ChannelType type_of(const Move& move) const {
    const bool together = hosts_[static_cast<size_t>(move.src)] == hosts_[static_cast<size_t>(move.dst)];
    return together ? ChannelType::memory : ChannelType::port;
  }

  void connect(size_t number) {
    const Move& move = plan_.moves[number];
    const ChannelType type = type_of(move);
    const int from = placement_.block[sending(number)], to = placement_.block[receiving(plan_, number)];
    const bool forward = move.src < move.dst;
    const ChannelKey key =
        forward ? ChannelKey{move.src, from, move.dst, to} : ChannelKey{move.dst, to, move.src, from};
    const auto [ids, is_new] = channels_.try_emplace(key);
    if (is_new) {
      const auto join = [&](Rank own, Rank peer) {
        std::vector<Rank>& peers = gpu(own).peers[index_of(type)];
        peers.push_back(peer);
        return static_cast<int>(peers.size()) - 1;
      };
      ids->second.first = join(std::get<0>(key), std::get<2>(key));
      ids->second.second = join(std::get<2>(key), std::get<0>(key));
    }
    const auto [low, high] = ids->second;
    use(move.src, from, type, forward ? low : high, true);
    use(move.dst, to, type, forward ? high : low, false);
  }

  void use(Rank rank, int number, ChannelType type, int channel, bool sends) {
    Ends& ends = ends_[static_cast<size_t>(rank)][static_cast<size_t>(number)];
    std::vector<int>& own = block(rank, number).channels[index_of(type)];
    const auto [place, is_new] =
        ends.position[index_of(type)].try_emplace(channel, static_cast<int>(own.size()));
    if (is_new) own.push_back(channel);
    std::vector<int>& used = (sends ? ends.sends : ends.receives)[index_of(type)];
    if (std::find(used.begin(), used.end(), place->second) == used.end()) used.push_back(place->second);
  }

  /// No kernel writes into the memory of a GPU whose kernel has not begun: earlier work there may use it.
  void begin(Rank rank) {
    auto& writers = writers_.emplace_back();
    writers.reserve(gpu(rank).blocks.size());
    for (size_t number = 0; number < gpu(rank).blocks.size(); ++number) {
      writers.emplace_back(gpu(rank).blocks[number],
                           [this, rank](const ChunkSpan& span) { return place(rank, span); });
      const Ends& ends = ends_[static_cast<size_t>(rank)][number];
      for (const ChannelType type : kChannelTypes) writers.back().signal(type, ends.receives[index_of(type)]);
      for (const ChannelType type : kChannelTypes) writers.back().wait(type, ends.sends[index_of(type)]);
    }
  }

  std::pair<size_t, size_t> place(Rank rank, const ChunkSpan& span) const {
    using Kind = ir::Operand::Kind;
    const Kind kind = span.buffer == 'i' ? Kind::input : span.buffer == 'o' ? Kind::output : Kind::scratch;
    const size_t first = map_.place(rank, {kind, span.index});
    return {first, first + span.chunks};
  }

  void do_work(size_t work) {
    const Rank rank = rank_of(plan_, work);
    const int number = placement_.block[work];
    BlockWriter& out = writer(rank, number);
    const Move& move = plan_.moves[work / 2];
    out.acquire(placement_.acquires[work]);
    if (work % 2 == 0 && move.src != move.dst) {
      send(out, work / 2);
    } else {
      if (move.src != move.dst) out.wait(type_of(move), std::array{position(work)});
      for (Operation& operation : arrival_of(plan_, order_, values_, work / 2))
        out.data(std::move(operation));
    }
    out.release(placement_.releases[work]);
  }

  /// The position of the channel of a move in the block that does the work.
  int position(size_t work) const {
    const Move& move = plan_.moves[work / 2];
    const int from = placement_.block[sending(work / 2)], to = placement_.block[receiving(plan_, work / 2)];
    const auto [low, high] = channels_.at(move.src < move.dst ? ChannelKey{move.src, from, move.dst, to}
                                                              : ChannelKey{move.dst, to, move.src, from});
    const Rank own = rank_of(plan_, work), other = rank_of(plan_, work ^ 1);
    const Ends& ends = ends_[static_cast<size_t>(own)][static_cast<size_t>(placement_.block[work])];
    return ends.position[index_of(type_of(move))].at(own < other ? low : high);
  }

  void send(BlockWriter& out, size_t number) {
    const Move& move = plan_.moves[number];
    const ChannelType type = type_of(move);
    const std::array channels = {position(sending(number))};
    const int own = placement_.block[sending(number)];
    ChunkSpan target = values_.received[number];
    target.remote = remote_buffer(move.src, own, {move.dst, target.buffer, {}}, type);
    Operation put{.kind = type == ChannelType::port ? OperationKind::put_with_signal : OperationKind::put,
                  .type = type};
    put.channels.assign(channels.begin(), channels.end());
    put.sources = {span_of(values_, move.from, move.chunks)};
    put.destinations = {target};
    out.data(std::move(put));
    if (type == ChannelType::memory) return out.signal(type, channels);
    std::vector<int>& unflushed = unflushed_[{move.src, own}];
    std::erase(unflushed, channels[0]);
    // Where something later overwrites what is being copied, it has to wait for the copy.
    if (order_.first[sending(number)] == order_.first[sending(number) + 1]) {
      unflushed.push_back(channels[0]);
    } else {
      out.flush(channels);
    }
  }

  /// The position of a remote buffer among those of a block.
  int remote_buffer(Rank rank, int number, RemoteBuffer wanted, ChannelType type) {
    std::vector<RemoteBuffer>& all = gpu(rank).remote_buffers;
    auto found = std::find_if(all.begin(), all.end(), [&](const RemoteBuffer& buffer) {
      return buffer.rank == wanted.rank && buffer.buffer == wanted.buffer;
    });
    if (found == all.end()) found = all.insert(all.end(), wanted);
    found->accessed_by[index_of(type)] = true;
    std::vector<int>& own = block(rank, number).buffers[index_of(type)];
    const int id = static_cast<int>(found - all.begin());
    auto place = std::find(own.begin(), own.end(), id);
    if (place == own.end()) place = own.insert(own.end(), id);
    return static_cast<int>(place - own.begin());
  }

  const ir::Plan& plan_;
  const std::span<const int> hosts_;
  const msccl::WorkOrder& order_;
  const Values& values_;
  const BlockPlacement& placement_;
  const ir::MemoryMap map_;
  ExecutionPlan result_;
  std::map<ChannelKey, std::pair<int, int>> channels_;          // positions in GpuBlocks::peers of both ranks
  std::vector<std::vector<Ends>> ends_;                         // index: rank and block
  std::vector<std::vector<BlockWriter>> writers_;               // index: rank and block
  std::map<std::pair<Rank, int>, std::vector<int>> unflushed_;  // of rank and block
};

bool fits(const ExecutionPlan& plan) {
  return std::ranges::all_of(plan.gpus, [](const GpuBlocks& gpu) {
    return std::ranges::all_of(gpu.blocks, [](const ThreadBlock& block) {
      return block.operations.size() <= kMostOperations &&
             std::ranges::all_of(block.channels,
                                 [](const auto& all) { return all.size() <= kMostChannels; }) &&
             std::ranges::all_of(block.buffers, [](const auto& all) { return all.size() <= kMostChannels; });
    });
  });
}

/// Divisions to try, the best ones first. Estimates leave room for what is only known afterwards.
std::vector<WorkDivision> divisions() {
  std::vector<WorkDivision> all;
  for (int lanes = ir::kMaxLanes; lanes >= 1; lanes /= 2)
    for (const size_t operations : {50, 36, 24, 14}) all.push_back({lanes, operations});
  return all;
}

}  // namespace

Result<ExecutionPlan> blocks_of(const ir::Plan& plan, std::span<const int> hosts) {
  const msccl::WorkOrder order = msccl::work_order_of(plan);
  const Values values = values_of(plan, order);
  const auto most_blocks = [](const BlockPlacement& placement) {
    return *std::ranges::max_element(placement.blocks);
  };
  const size_t least = most_blocks(place(plan, order, values, hosts, {1, kMostOperations}));
  for (const WorkDivision division : least > kMostBlocks ? std::vector<WorkDivision>() : divisions()) {
    BlockPlacement placement = place(plan, order, values, hosts, division);
    if (most_blocks(placement) > kMostBlocks) continue;
    add_semaphores(plan, order, placement);
    ExecutionPlan blocks = Compiler(plan, hosts, order, values, placement).compile();
    if (fits(blocks)) return blocks;
  }
  return Status(
      Code::invalid_argument,
      fmt::format(
          "a GPU of the plan needs {} thread blocks of MSCCL++; expected at most {}, each of at most {} "
          "operations, {} channels and {} remote buffers",
          least > kMostBlocks ? std::to_string(least) : fmt::format("more than {}", kMostBlocks), kMostBlocks,
          kMostOperations, kMostChannels, kMostChannels));
}

}  // namespace weir::mscclpp
