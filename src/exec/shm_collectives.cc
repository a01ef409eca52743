// SPDX-License-Identifier: Apache-2.0

#include "src/exec/shm_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace weir::exec {
namespace {

/// Bytes of a rank's input that are read at a time to be folded: all ranks' together fit into a cache.
size_t read_bytes(int ranks) {
  return std::max<size_t>(4096, std::min<size_t>(64 << 10, (size_t{1} << 20) / static_cast<size_t>(ranks)));
}

}  // namespace

ShmCollectives::ShmCollectives(Rank self, std::vector<ExchangeArea> exchange_areas,
                               std::vector<Doorbell*> doorbells, Allocations& allocations,
                               const Limits& limits)
    : self_(self),
      ranks_(static_cast<int>(exchange_areas.size())),
      exchange_areas_(std::move(exchange_areas)),
      doorbells_(std::move(doorbells)),
      limits_(limits),
      everybody_((uint64_t{1} << (ranks_ - 1)) - 1),
      handed_copies_(limits.streaming_weight),
      posted_(self, exchange_areas_, allocations) {
  if (limits.rendezvous_bytes == 0) return;
  read_.emplace(static_cast<uint32_t>(ranks_), static_cast<uint32_t>(read_bytes(ranks_)));
}

void ShmCollectives::start(Collective kind, const Work& work) {
  work_ = &work;
  if (kind != call_.kind || work.count != call_.count || work.type != call_.type) lay_out(kind, work);
  if (call_.total <= InlineMessage::kBytes) {
    send_inline_messages();
    return;
  }
  posted_.look_up(own_buffers());
  first_ = true;
  done_ = summed_ = 0;
  begin_block();
}

/// The buffers as they are posted. What may be done with them is equal on all ranks.
PostedBuffers::Own ShmCollectives::own_buffers() const {
  const bool copies = call_.kind == Collective::all_reduce && (!two_shot() || ranks_ == 2);
  const size_t most = folds() ? limits_.most_summed : limits_.most_rendezvous;
  const bool pays =
      limits_.rendezvous_bytes > 0 && call_.total >= limits_.rendezvous_bytes && call_.largest <= most;
  return {.input = work_->input,
          .output = work_->output,
          .input_bytes = by_destination() ? call_.largest : call_.total,
          .output_bytes = call_.kind == Collective::all_reduce ? call_.total : 0,
          .may_map = call_.total >= limits_.direct_bytes && !work_->scales,
          .rendezvous = pays && !copies && !work_->scales && work_->divisor == 1};
}

void ShmCollectives::lay_out(Collective kind, const Work& work) {
  posted_.forget();
  call_.kind = kind;
  call_.count = work.count;
  call_.type = work.type;
  call_.element = size_of(call_.type);
  call_.total = bytes(call_.count);
  call_.largest = kind == Collective::all_reduce ? call_.total : call_.total * static_cast<size_t>(ranks_);
  const size_t most = std::min(limits_.block_bytes, exchange_areas_[0].half_bytes());
  const size_t room = by_destination() ? most / static_cast<size_t>(ranks_) : most;
  call_.block = room / kGrainBytes * kGrainBytes / call_.element;
  call_.traffic =
      call_.largest >= limits_.streaming_bytes ? device::Traffic::streaming : device::Traffic::cached;
  now_ = call_.count;
  call_.direct_share = share(self_);
}

Progress ShmCollectives::advance() {
  for (;;) {
    if (phase_ == Phase::inline_messages) {
      if (!all_inline_messages()) return error_.ok() ? Progress::blocked : Progress::failed;
      read_inline_messages();
      return Progress::done;
    }
    if (!all_posted()) return error_.ok() ? Progress::blocked : Progress::failed;
    if (phase_ == Phase::drain) {
      if (!begin_again()) return Progress::done;
      continue;
    }
    if (phase_ == Phase::results) {
      if (begin_again()) continue;
      if (next()) return Progress::done;
      continue;
    }
    if (first_) {
      error_ = posted_.learn(stage_);
      if (!error_.ok()) return Progress::failed;
      call_.direct = !work_->scales && work_->divisor == 1 && posted_.all() &&
                     (call_.kind != Collective::all_reduce || posted_.all_outputs());
      first_ = false;
    }
    if (call_.direct) {
      exchange_direct();
      post();
      phase_ = Phase::drain;
    } else if (two_shot()) {
      fold_share();
      post();
      phase_ = Phase::results;
    } else {
      consume();
      if (next()) return Progress::done;
    }
  }
}

/// Announces a stage to every rank, with the data inside the announcement (inline messages).
void ShmCollectives::send_inline_messages() {
  phase_ = Phase::inline_messages;
  pending_ = everybody_;
  ++stage_;
  const uint64_t word = uint64_t{stage_} << 32 | static_cast<uint32_t>(work_->tag);
  const std::byte* from = work_->input;
  if (work_->scales && call_.kind == Collective::all_reduce) {
    device::scale(work_->type, own_inline_message_, work_->input, work_->factor, work_->count);
    from = own_inline_message_;
  }
  for (int i = 0; i + 1 < ranks_; ++i) {
    const Rank peer = after_self(i);
    InlineMessage& inline_message = exchange_areas_[peer].inline_message(stage_ % 2, self_);
    if (by_destination()) {
      const std::byte* block = work_->input + static_cast<size_t>(peer) * call_.total;
      stage_copy(inline_message.bytes, block, work_->count);
    } else {
      std::memcpy(inline_message.bytes, from, call_.total);
    }
    inline_message.stage.store(word, std::memory_order_release);
    doorbells_[peer]->ring();
  }
}

bool ShmCollectives::all_inline_messages() {
  return hear_all([this](Rank peer) -> const std::atomic<uint64_t>& {
    return exchange_areas_[self_].inline_message(stage_ % 2, peer).stage;
  });
}

void ShmCollectives::read_inline_messages() {
  const auto message = [&](Rank rank) -> const std::byte* {
    if (rank != self_) return exchange_areas_[self_].inline_message(stage_ % 2, rank).bytes;
    if (call_.kind == Collective::all_reduce) return work_->scales ? own_inline_message_ : work_->input;
    if (call_.kind == Collective::all_gather) return work_->input;
    const std::byte* block = work_->input + static_cast<size_t>(self_) * call_.total;
    if (!work_->scales) return block;
    device::scale(work_->type, own_inline_message_, block, work_->factor, work_->count);
    return own_inline_message_;
  };
  if (folds()) {
    fold(work_->output, work_->count, device::Traffic::cached, message);
    return;
  }
  for (Rank rank = 0; rank < ranks_; ++rank) {
    std::byte* target = work_->output + static_cast<size_t>(rank) * call_.total;
    if (const std::byte* from = message(rank); from != target) std::memcpy(target, from, call_.total);
  }
}

/// Announces the next stage; its data are in the half, or in the buffers that the first stage announced.
void ShmCollectives::post() {
  pending_ = everybody_;
  ++stage_;
  StageEntry& line = exchange_areas_[self_].stage(stage_ % 2);
  if (first_) posted_.post(line);
  line.unread = posted_.unread();
  line.stage.store(uint64_t{stage_} << 32 | static_cast<uint32_t>(work_->tag), std::memory_order_release);
  for (int i = 0; i + 1 < ranks_; ++i) doorbells_[after_self(i)]->ring();
}

bool ShmCollectives::all_posted() {
  return hear_all([this](Rank peer) -> const std::atomic<uint64_t>& {
    return exchange_areas_[peer].stage(stage_ % 2).stage;
  });
}

/// Polls the ranks that have not posted this stage, and processes data that depend on no other rank at once.
/// Returns true if all ranks have posted.
template <typename WordOf>
bool ShmCollectives::hear_all(WordOf word_of) {
  for (uint64_t rest = pending_; rest != 0; rest &= rest - 1) {
    const Rank peer = after_self(std::countr_zero(rest));
    if (!heard(peer, word_of(peer).load(std::memory_order_acquire))) {
      if (!error_.ok()) return false;
      continue;
    }
    pending_ &= ~(rest & -rest);
    if (phase_ == Phase::results) copy_result(peer);
  }
  if (pending_ == 0) return true;
  awaited_ = after_self(std::countr_zero(pending_));
  return false;
}

/// Whether `word` of a peer announces the current stage. The expected stage with a different signature is a
/// mismatched call.
bool ShmCollectives::heard(Rank peer, uint64_t word) {
  if (word >> 32 != stage_) return false;
  if (static_cast<uint32_t>(word) == static_cast<uint32_t>(work_->tag)) return true;
  awaited_ = peer;
  error_ = Status(
      Code::invalid_usage,
      fmt::format(
          "rank {} and rank {} called different collectives, or the same one with another count, type, "
          "operation or root (operation #{} of this rank)",
          peer, self_, work_->tag >> 32));
  return false;
}

/// Whether some rank could not read what another one has, as it says in this stage. Then the block of
/// a two-shot, or else the operation, begins again with copies, at all ranks, as all see the same. Sums that
/// a rank has got stay, since their operands may be gone.
bool ShmCollectives::begin_again() {
  if (!posted_.any_rendezvous()) return false;
  const auto unread = [&](const ExchangeArea& area) { return area.stage(stage_ % 2).unread; };
  if (std::ranges::none_of(exchange_areas_, unread)) return false;
  limits_.rendezvous_bytes = 0;
  posted_.look_up(own_buffers());
  first_ = true;
  if (!two_shot()) done_ = 0;
  begin_block();
  return true;
}

void ShmCollectives::begin_block() {
  now_ = std::min(call_.block, work_->count - done_);
  if (!posted_.has_input()) stage_inputs();
  post();
  phase_ = Phase::inputs;
}

void ShmCollectives::stage_copy(std::byte* to, const std::byte* from, size_t count) {
  if (work_->scales) {
    device::scale(work_->type, to, from, work_->factor, count);
  } else {
    handed_copies_.copy(to, from, bytes(count));
  }
}

/// Copies the parts of this rank's input that other ranks need to the half of the next stage. The own share
/// is read in place, unless it must be scaled.
void ShmCollectives::stage_inputs() {
  std::byte* half = exchange_areas_[self_].half((stage_ + 1) % 2);
  const std::byte* from = work_->input + bytes(done_);
  if (by_destination()) {
    for (Rank rank = 0; rank < ranks_; ++rank) {
      const size_t at = static_cast<size_t>(rank);
      if (rank != self_ || work_->scales)
        stage_copy(half + at * bytes(call_.block), from + at * call_.total, now_);
    }
    return;
  }
  if (!two_shot() || work_->scales) {
    stage_copy(half, from, now_);
    return;
  }
  const Extent own = share(self_);
  const size_t after = own.first + own.count;
  stage_copy(half, from, own.first);
  stage_copy(half + bytes(after), from + bytes(after), now_ - after);
}

/// The address of the current stage's bytes of `rank`: in its buffer, if it posted that, else in its half.
const std::byte* ShmCollectives::input_of(Rank rank, size_t staged_offset, size_t buffer_offset) const {
  if (rank == self_ && !work_->scales) return work_->input + buffer_offset;
  if (const std::byte* const input = posted_.input(rank)) return input + buffer_offset;
  return exchange_areas_[rank].half(stage_ % 2) + staged_offset;
}

template <typename SourceOf>
void ShmCollectives::fold(std::byte* target, size_t count, device::Traffic traffic, SourceOf source_of) {
  const void* sources[kMostRanks];
  for (Rank rank = 0; rank < ranks_; ++rank) sources[rank] = source_of(rank);
  device::fold(work_->type, work_->op, target, sources, ranks_, count, traffic);
  if (work_->divisor > 1) device::divide(work_->type, target, work_->divisor, count);
}

/// Collectives of one stage: every rank reads what it needs from all ranks' blocks.
void ShmCollectives::consume() {
  const size_t offset = bytes(done_);
  const size_t own = static_cast<size_t>(self_);
  if (call_.kind == Collective::all_reduce) {
    sum_inputs(work_->output + offset, {done_, now_}, call_.traffic, 0, offset);
  } else if (call_.kind == Collective::reduce_scatter) {
    sum_inputs(work_->output + offset, {done_, now_}, call_.traffic, own * bytes(call_.block),
               own * call_.total + offset);
  } else {
    const bool gathers = call_.kind == Collective::all_gather;
    for (int i = 0; i < ranks_; ++i) {
      const Rank rank = i == 0 ? self_ : after_self(i - 1);
      std::byte* target = work_->output + static_cast<size_t>(rank) * call_.total + offset;
      take(rank, target, gathers ? 0 : own * bytes(call_.block),
           gathers ? offset : own * call_.total + offset);
    }
  }
}

/// Folds elements of this rank's part from the inputs of all ranks, what is read by rendezvous piece by
/// piece. Those before summed_ are in the output already.
void ShmCollectives::sum_inputs(std::byte* target, Extent elements, device::Traffic traffic,
                                size_t staged_offset, size_t buffer_offset) {
  const size_t most = posted_.any_rendezvous() ? read_bytes(ranks_) / call_.element : elements.count;
  if (posted_.unread()) return;  // all begin again there
  summed_ = std::max(summed_, elements.first);
  for (size_t now = 0; summed_ < elements.first + elements.count; summed_ += now) {
    const size_t done = summed_ - elements.first;
    now = std::min(most, elements.count - done);
    const size_t at = bytes(done);
    const auto read_of = [&](Rank rank) { return (*read_)[static_cast<uint64_t>(rank)]; };
    for (Rank rank = 0; rank < ranks_; ++rank) {
      if (posted_.is_read(rank) && !posted_.read(rank, buffer_offset + at, read_of(rank), bytes(now))) return;
    }
    fold(target + at, now, traffic, [&](Rank rank) -> const std::byte* {
      if (posted_.is_read(rank)) return read_of(rank);
      return input_of(rank, staged_offset + at, buffer_offset + at);
    });
  }
}

/// Copies this rank's part of the current block of `rank`.
void ShmCollectives::take(Rank rank, std::byte* target, size_t staged_offset, size_t buffer_offset) {
  if (posted_.is_read(rank)) {
    posted_.read(rank, buffer_offset, target, bytes(now_));
    return;
  }
  const std::byte* from = input_of(rank, staged_offset, buffer_offset);
  if (from != target) device::copy(target, from, bytes(now_), call_.traffic);
}

Extent ShmCollectives::share(Rank rank) const {
  return part_of(now_, static_cast<size_t>(ranks_), static_cast<size_t>(rank), kGrainBytes / call_.element);
}

/// Two-shot, first stage: folds this rank's share of the block into the half of the next stage.
void ShmCollectives::fold_share() {
  const Extent own = share(self_);
  const size_t offset = bytes(own.first);
  std::byte* target = work_->output + bytes(done_) + offset;
  sum_inputs(target, {0, own.count}, device::Traffic::cached, offset, bytes(done_) + offset);
  handed_copies_.copy(exchange_areas_[self_].half((stage_ + 1) % 2) + offset, target, bytes(own.count));
}

/// Two-shot, second stage: copies the share that `rank` folded.
void ShmCollectives::copy_result(Rank rank) {
  if (posted_.any_rendezvous() && exchange_areas_[rank].stage(stage_ % 2).unread) return;
  const Extent theirs = share(rank);
  device::copy(work_->output + bytes(done_ + theirs.first),
               exchange_areas_[rank].half(stage_ % 2) + bytes(theirs.first), bytes(theirs.count),
               call_.traffic);
}

/// Used if all buffers can be addressed: needs no staging copies and no division into blocks.
void ShmCollectives::exchange_direct() {
  now_ = work_->count;
  if (call_.kind != Collective::all_reduce) {
    consume();
    return;
  }
  const Extent own = call_.direct_share;
  const size_t offset = bytes(own.first);
  const void* sources[kMostRanks];
  void* targets[kMostRanks];
  for (Rank rank = 0; rank < ranks_; ++rank) sources[rank] = input_of(rank, 0, offset);
  targets[0] = work_->output + offset;
  for (int i = 1; i < ranks_; ++i) targets[i] = posted_.output(after_self(i - 1)) + offset;
  device::fold_to_all(work_->type, work_->op, targets, ranks_, sources, ranks_, own.count, call_.traffic);
}

/// Ends the block. Returns true if the operation is done; else announces the next stage.
bool ShmCollectives::next() {
  done_ += now_;
  if (two_shot()) summed_ = 0;
  if (done_ < work_->count) {
    begin_block();
    return false;
  }
  if (!posted_.any() || two_shot()) return true;
  post();
  phase_ = Phase::drain;
  return false;
}

}  // namespace weir::exec
