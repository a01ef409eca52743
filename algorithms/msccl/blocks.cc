// SPDX-License-Identifier: Apache-2.0

#include "algorithms/msccl/blocks.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "algorithms/msccl/connections.h"
#include "algorithms/msccl/waits.h"
#include "algorithms/msccl/work_order.h"

namespace weir::msccl {
namespace {

using ir::Move;
using ir::Operand;
using Kind = Operand::Kind;

constexpr uint32_t kChunksInChannel = 2;  // MSCCL's channels have 8 slots, and a chunk takes 4

/// Moves that a block carries out in the order of the plan.
struct Queue {
  std::vector<size_t> moves;
  size_t next = 0;

  bool empty() const { return next == moves.size(); }
  size_t head() const { return empty() ? kNoMove : moves[next]; }
};

/// What a block has to do.
struct BlockQueues {
  Rank gpu = 0;
  int number = 0;
  Queue sends, receives, locals;

  bool finished() const { return sends.empty() && receives.empty() && locals.empty(); }
};

/// Executes the plan with all blocks in turn, and records the steps of each. Blocks prefer to wait until they
/// can send on in the same step what they receive; only if nothing else can go on, they receive and store it.
/// The first work in the order of the plan that is not done can then always be done: what it needs precedes
/// it, and its channel is empty. So the execution ends, and its order proves that MSCCL does not come to a
/// standstill.
class Assembly {
 public:
  Assembly(const ir::Plan& plan, WorkOrder order, Connections connections)
      : plan_(plan),
        map_(plan.shape, plan.scratch_chunks, tightest_placement(plan.shape)),
        order_of_work_(std::move(order)),
        connections_(std::move(connections)),
        stored_(plan.moves.size()),
        sent_(plan.moves.size()),
        to_send_on_(plan.moves.size()) {
    blocks_.gpus = std::move(connections_.gpus);
    blocks_.channels = connections_.channels;
    blocks_.scratch.assign(static_cast<size_t>(plan.shape.ranks), plan.scratch_chunks);
    fill_queues();
  }

  Result<Blocks> assemble() {
    bool patient = true;
    while (!active_.empty()) {
      const bool moved = turn(patient);
      if (!moved && !patient)
        return Status(Code::internal_error, "the blocks of an MSCCL file came to a standstill");
      patient = moved;
    }
    add_waits(plan_, blocks_);
    return std::move(blocks_);
  }

 private:
  const Move& move(size_t number) const { return plan_.moves[number]; }
  BlockQueues& sender(size_t m) {
    return queues_[first_[static_cast<size_t>(move(m).src)] + at(connections_.send_in[m])];
  }
  BlockQueues& receiver(size_t m) {
    return queues_[first_[static_cast<size_t>(move(m).dst)] + at(connections_.receive_in[m])];
  }
  static size_t at(int block) { return static_cast<size_t>(block); }
  uint32_t& in_channel(size_t m) { return in_channel_[{move(m).src, move(m).dst, connections_.channel[m]}]; }
  /// Whether the chunks of a message do not fit into a channel: its receiver takes them while they are sent.
  bool is_large(size_t m) const { return move(m).chunks > kChunksInChannel; }
  bool has_room(size_t m) {
    return is_large(m) ? in_channel(m) == 0 : in_channel(m) + move(m).chunks <= kChunksInChannel;
  }

  void fill_queues() {
    for (size_t gpu = 0; gpu < blocks_.gpus.size(); ++gpu) {
      first_.push_back(queues_.size());
      for (size_t b = 0; b < blocks_.gpus[gpu].size(); ++b)
        queues_.push_back({static_cast<Rank>(gpu), static_cast<int>(b), {}, {}, {}});
    }
    for (size_t m = 0; m < plan_.moves.size(); ++m) {
      if (move(m).src == move(m).dst) {
        sender(m).locals.moves.push_back(m);
        continue;
      }
      sender(m).sends.moves.push_back(m);
      receiver(m).receives.moves.push_back(m);
      const size_t maker = order_of_work_.maker[m];
      if (maker != kNoMove && &receiver(maker) == &sender(m)) ++to_send_on_[maker];
    }
    for (BlockQueues& block : queues_)
      if (!block.finished()) active_.push_back(&block);
  }

  /// One step of each block that can make one; whether there was any.
  bool turn(bool patient) {
    bool moved = false;
    for (BlockQueues* const block : active_) moved = step(*block, patient) || moved;
    active_.erase(
        std::remove_if(active_.begin(), active_.end(), [](const BlockQueues* w) { return w->finished(); }),
        active_.end());
    return moved;
  }

  /// Moves that are received at the same time, each sent on as the next one.
  struct Transfer {
    const BlockQueues* start = nullptr;  ///< the block that only sends
    std::vector<size_t> moves;
    size_t sent_on = kNoMove;  ///< the last one is sent on as this move, which waits in its channel
  };

  bool step(BlockQueues& block, bool patient) {
    if (const size_t m = block.sends.head();
        m != kNoMove && order_of_work_.pending[sending(m)] == 0 && has_room(m)) {
      Transfer transfer{&block, {}};
      if (!is_large(m) || can_take(m, patient, transfer)) {
        send(block, m);
        finish(transfer);
        return true;
      }
    }
    if (const size_t m = block.receives.head(); m != kNoMove && sent_[m] != 0) {
      Transfer transfer;
      if (can_take(m, patient, transfer)) {
        finish(transfer);
        return true;
      }
    }
    const size_t m = block.locals.head();
    if (m == kNoMove || order_of_work_.pending[sending(m)] > 0) return false;
    combine(block, m);
    return true;
  }

  /// The move that can send on what move m brings, in the same step; kNoMove: none.
  size_t next_hop(size_t m) {
    const size_t next = to_send_on_[m] > 0 ? receiver(m).sends.head() : kNoMove;
    const bool sends_on =
        next != kNoMove && order_of_work_.maker[next] == m && order_of_work_.pending[sending(next)] == 1;
    return sends_on && has_room(next) ? next : kNoMove;
  }

  /// Whether the receiver of move m can take it now; if so, the transfer goes on with it.
  bool can_take(size_t m, bool patient, Transfer& transfer) {
    const BlockQueues& own = receiver(m);
    if (own.receives.head() != m || order_of_work_.pending[receiving(plan_, m)] > 0 ||
        transfer.start == &own ||
        std::any_of(transfer.moves.begin(), transfer.moves.end(),
                    [&](size_t other) { return &receiver(other) == &own; }))
      return false;
    transfer.moves.push_back(m);
    const size_t next = next_hop(m);
    if (next != kNoMove && is_large(next) && can_take(next, true, transfer)) return true;
    if (next != kNoMove && !is_large(next)) transfer.sent_on = next;
    if (!patient || to_send_on_[m] == 0 || transfer.sent_on != kNoMove) return true;
    transfer.moves.pop_back();
    return false;
  }

  void finish(const Transfer& transfer) {
    for (size_t i = 0; i < transfer.moves.size(); ++i)
      arrive(transfer.moves[i], i + 1 < transfer.moves.size() ? transfer.moves[i + 1] : transfer.sent_on);
  }

  StepPosition push(const BlockQueues& block, MscclStep step) {
    std::vector<MscclStep>& steps = blocks_.gpus[static_cast<size_t>(block.gpu)][at(block.number)].steps;
    step.order = ++order_;
    steps.push_back(std::move(step));
    return {block.number, steps.size() - 1};
  }

  void done(size_t work) {
    for (size_t i = order_of_work_.first[work]; i < order_of_work_.first[work + 1]; ++i)
      --order_of_work_.pending[order_of_work_.later[i]];
  }

  Operand new_scratch(Rank rank, uint32_t chunks) {
    uint32_t& used = blocks_.scratch[static_cast<size_t>(rank)];
    used += chunks;
    return {Kind::scratch, used - chunks};
  }

  /// Where the operand is in memory.
  Operand place_of(Operand operand) const {
    return operand.kind == Kind::value ? stored_[operand.index] : operand;
  }

  /// The place of the value of move m, which is used so often as a value. If its own memory is overwritten
  /// too early, it is a place of its own, from which copy_out() fills its memory.
  Operand store(size_t m, uint32_t uses) {
    const Move& own = move(m);
    if (own.to.in_memory() && (order_of_work_.needs_copy[m] == 0 || uses == 0))
      stored_[m] = own.to;
    else if (uses > 0)
      stored_[m] = new_scratch(own.dst, own.chunks);
    return stored_[m];
  }

  void copy_out(const BlockQueues& block, size_t m) {
    const Operand to = move(m).to;
    if (to.in_memory() && stored_[m] != to)
      push(block, {MscclStep::Kind::copy, 0, false, false, stored_[m], to, move(m).chunks, {}});
  }

  void leave(size_t m) {
    in_channel(m) += move(m).chunks;
    sent_[m] = 1;
    ++sender(m).sends.next;
    done(sending(m));
  }

  void send(const BlockQueues& block, size_t m) {
    push(block, {MscclStep::Kind::message, 0, false, true, place_of(move(m).from), {}, move(m).chunks, {}});
    const size_t maker = order_of_work_.maker[m];
    if (maker != kNoMove && to_send_on_[maker] > 0) --to_send_on_[maker];
    leave(m);
  }

  /// Receives move m, and sends it on as move `next`.
  void arrive(size_t m, size_t next) {
    const Move& own = move(m);
    BlockQueues& block = receiver(m);
    const bool sends = next != kNoMove;
    const bool uses_value = sends && move(next).from.kind == Kind::value;
    Operand kept = store(m, order_of_work_.uses[m] - (uses_value ? 1 : 0));
    // Without a sum, every step that sends data on also stores it.
    if (sends && own.with.kind == Kind::none && kept.kind == Kind::none)
      kept = stored_[m] = new_scratch(own.dst, own.chunks);
    push(block, {MscclStep::Kind::message, 0, true, sends, place_of(own.with), kept, own.chunks, {}});
    copy_out(block, m);
    in_channel(m) -= own.chunks;
    ++block.receives.next;
    to_send_on_[m] = 0;
    done(receiving(plan_, m));
    if (sends) leave(next);
  }

  bool same_place(Rank rank, Operand a, Operand b) const {
    const auto added = [&](Operand o) { return o.kind == Kind::scratch && o.index >= plan_.scratch_chunks; };
    return added(a) || added(b) ? a == b : map_.place(rank, a) == map_.place(rank, b);
  }

  /// A local move.
  void combine(BlockQueues& block, size_t m) {
    const Move& own = move(m);
    const Operand from = place_of(own.from), with = place_of(own.with), to = store(m, order_of_work_.uses[m]);
    // In place the result may be in the memory of one of the two operands: that one comes first.
    const bool with_first = with.kind != Kind::none && same_place(own.src, to, with);
    const Operand first = with_first ? with : from, second = with_first ? from : with;
    const auto add = [&](MscclStep::Kind kind, Operand source) {
      push(block, {kind, 0, false, false, source, to, own.chunks, {}});
    };
    if (first != to) add(MscclStep::Kind::copy, first);
    if (second.kind != Kind::none) add(MscclStep::Kind::reduce, second);
    copy_out(block, m);
    ++block.locals.next;
    done(sending(m));
  }

  const ir::Plan& plan_;
  const ir::MemoryMap map_;
  WorkOrder order_of_work_;
  Connections connections_;
  Blocks blocks_;
  std::vector<BlockQueues> queues_;   // of all blocks
  std::vector<size_t> first_;         // index: GPU; its first block in queues_
  std::vector<BlockQueues*> active_;  // those that are not finished
  std::vector<Operand> stored_;       // index: move; where its value is stored; none: nowhere
  std::vector<char> sent_;            // index: move
  std::vector<uint32_t> to_send_on_;  // index: move; moves of the block that receives it which send it on
  std::map<std::tuple<Rank, Rank, int>, uint32_t> in_channel_;  // key: source, destination, channel; chunks
  size_t order_ = 0;
};

}  // namespace

ir::Placement tightest_placement(const ir::Shape& shape) {
  return ir::has_in_place(shape.kind) ? ir::Placement::in_place : ir::Placement::apart;
}

Result<Blocks> blocks_of(const ir::Plan& plan) {
  WorkOrder order = work_order_of(plan);
  auto connections = connect(plan, order);
  WEIR_TRY(connections.status());
  return Assembly(plan, std::move(order), std::move(*connections)).assemble();
}

}  // namespace weir::msccl
