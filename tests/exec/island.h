// SPDX-License-Identifier: Apache-2.0
/// Help for tests of execution: ranks of one process, joined by the loop transport, driven by one thread.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <vector>

#include "src/base/doorbell.h"
#include "src/exec/lane.h"
#include "tests/exec/programs.h"
#include "transports/memory/loop.h"

namespace weir::exec {

/// Segments and transports of `ranks` ranks.
class Island {
 public:
  explicit Island(int ranks, size_t exchange_area_bytes = 1 << 20) {
    for (Rank rank = 0; rank < ranks; ++rank) {
      auto segment = Segment::create(
          {.uid = 7, .rank = rank, .exchange_area_bytes = exchange_area_bytes, .ring_pool_bytes = 1 << 26});
      if (!segment.ok()) throw std::runtime_error(segment.status().message());
      segments_.push_back(std::move(*segment));
      transports_.push_back(make_loop({7, rank, 1}, segments_.back().get(), &local_));
    }
  }
  int ranks() const { return static_cast<int>(segments_.size()); }
  Transport& transport(Rank rank) { return *transports_[static_cast<size_t>(rank)]; }
  SegmentView view(Rank rank) const { return segments_[static_cast<size_t>(rank)]->view(); }

 private:
  LocalSegments local_;
  std::vector<std::unique_ptr<Segment>> segments_;
  std::vector<std::unique_ptr<Transport>> transports_;
};

/// Programs of all ranks, bound to channels of an island.
class Bound {
 public:
  Bound(Island& island, std::vector<Program> programs, uint32_t slots = 2, uint32_t slot_bytes = 4096)
      : programs_(std::move(programs)) {
    for (const Program& program : programs_) scratch_.emplace_back(program.scratch_chunks * slot_bytes + 1);
    for (const Program& program : programs_) {
      Binding binding;
      Transport& transport = island.transport(program.rank);
      for (const Channel& channel : program.channels) {
        const Bytes address = island.transport(channel.peer).address();
        LinkSpec spec{program.rank, channel.peer, channel.number, slots, slot_bytes};
        spec.rendezvous_bytes = 1;
        binding.senders.push_back(nullptr);
        binding.receivers.push_back(nullptr);
        if (channel.outgoing) {
          senders_.push_back(std::move(transport.open_sender(address, spec).value()));
          binding.senders.back() = senders_.back().get();
        } else {
          receivers_.push_back(std::move(transport.open_receiver(address, spec).value()));
          binding.receivers.back() = receivers_.back().get();
        }
      }
      binding.tile_bytes = slot_bytes / program.message_chunks / 64 * 64;
      binding.scratch = scratch_[static_cast<size_t>(program.rank)].data();
      for (const auto& scratch : scratch_) binding.peer_scratch.push_back(scratch.data());
      runs_.push_back(std::make_unique<Run>(program, std::move(binding)));
    }
    for (bool ready = false; !ready;) {
      ready = true;
      for (auto& end : senders_) ready &= end->ready().value();
      for (auto& end : receivers_) ready &= end->ready().value();
    }
  }
  Run& run(Rank rank) { return *runs_[static_cast<size_t>(rank)]; }

 private:
  std::vector<Program> programs_;
  std::vector<std::vector<std::byte>> scratch_;
  std::vector<std::unique_ptr<Sender>> senders_;
  std::vector<std::unique_ptr<Receiver>> receivers_;
  std::vector<std::unique_ptr<Run>> runs_;
};

/// Advances tasks alternately until all are done. Fails if no task makes progress.
inline Status finish(std::span<Task* const> tasks) {
  std::vector<bool> done(tasks.size());
  for (int idle = 0; idle < 1000;) {
    bool all = true;
    bool moved = false;
    for (size_t i = 0; i < tasks.size(); ++i) {
      if (done[i]) continue;
      const Progress progress = tasks[i]->advance();
      if (progress == Progress::failed) return tasks[i]->error();
      done[i] = progress == Progress::done;
      moved |= progress != Progress::blocked;
      all &= done[i];
    }
    if (all) return {};
    idle = moved ? 0 : idle + 1;
  }
  return {Code::internal_error, "nobody gets anywhere"};
}

}  // namespace weir::exec
