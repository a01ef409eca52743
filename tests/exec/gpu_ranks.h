// SPDX-License-Identifier: Apache-2.0
/// Help for tests of kernels: ranks whose lanes are blocks of the host's build of the kernels, a thread each,
/// over rings in memory.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <thread>
#include <tuple>
#include <vector>

#include "src/exec/gpu/image.h"

namespace weir::exec::gpu {

/// A kernel of libweir_host_kernels.so; the test that uses ranks defines it.
HostKernel host_kernel(RingProtocol protocol);

/// Memory of one ring, both ends'. `before`: messages that it has carried already.
struct RingMemory {
  RingMemory(RingProtocol protocol, uint32_t slots, size_t slot_bytes, uint64_t before)
      : stride(static_cast<uint32_t>(slot_stride(protocol, slot_bytes))),
        words(slots * stride / 8 + 2),
        arrived(arrived_words(slots)) {
    arrived[0] = taken = sent = received = before;
    count = slots;
  }
  std::byte* slots() {
    const auto address = reinterpret_cast<uintptr_t>(words.data());
    return reinterpret_cast<std::byte*>((address + 15) / 16 * 16);
  }
  Port port(bool outgoing) {
    return {slots(), arrived.data(), &taken, outgoing ? &sent : &received, count, stride, 0};
  }

  uint32_t count = 0;
  uint32_t stride;
  std::vector<uint64_t> words;
  std::vector<uint64_t> arrived;
  uint64_t taken, sent, received;
};

struct RingOptions {
  RingProtocol protocol = RingProtocol::bandwidth;
  bool ordered = true;
  uint32_t shards = 1;
  uint32_t slots = 2;
  uint32_t slot_bytes = 4096;
  uint64_t before = 0;
  bool direct = false;  ///< ranks use each other's buffers
};

/// Programs of all ranks, with their rings.
class GpuRanks {
 public:
  GpuRanks(std::vector<Program> programs, const RingOptions& options)
      : options_(options), programs_(std::move(programs)) {
    tile_bytes_ = options.slot_bytes / programs_[0].message_chunks / kGrainBytes * kGrainBytes;
    for (const Program& program : programs_) {
      const size_t bytes = program.scratch_chunks * tile_bytes_;
      scratch_.emplace_back(options.shards * bytes / sizeof(Chunk) + 1);
      addresses_.push_back(reinterpret_cast<std::byte*>(scratch_.back().data()));
      images_.push_back(image_of(program));
    }
    for (const Program& program : programs_) bind(program);
  }

  size_t tile_bytes() const { return tile_bytes_; }
  Launch& launch(Rank rank) { return launches_[static_cast<size_t>(rank)]; }
  const Note& note(Rank rank, uint32_t block) const { return notes_[static_cast<size_t>(rank)][block]; }
  std::map<std::tuple<Rank, Rank, uint32_t, uint32_t>, std::unique_ptr<RingMemory>>& rings() {
    return rings_;
  }
  void abort() { __atomic_store_n(&abort_, 1, __ATOMIC_RELEASE); }

  /// Starts all blocks of a rank.
  void start(Rank rank) {
    const Launch& launch = launches_[static_cast<size_t>(rank)];
    const uint32_t grid = launch.lane_count * launch.shards;
    for (uint32_t block = 0; block < grid; ++block) {
      threads_.emplace_back(
          [&launch, block, grid, this] { host_kernel(options_.protocol)(&launch, block, grid); });
    }
  }
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  void run(const std::vector<Work>& works) {
    for (const Program& program : programs_) {
      const Status status =
          set_work(launch(program.rank), program, works[static_cast<size_t>(program.rank)], tile_bytes_);
      ASSERT_TRUE(status.ok()) << status.message();
    }
    for (const Program& program : programs_) start(program.rank);
    join();
  }

 private:
  void bind(const Program& program) {
    std::vector<Port> ports;
    for (uint32_t shard = 0; shard < options_.shards; ++shard) {
      for (const Channel& channel : program.channels) {
        const Rank source = channel.outgoing ? program.rank : channel.peer;
        const Rank target = channel.outgoing ? channel.peer : program.rank;
        auto& ring = rings_[{source, target, channel.number, shard}];
        if (ring == nullptr) {
          ring = std::make_unique<RingMemory>(options_.protocol, options_.slots, options_.slot_bytes,
                                              options_.before);
        }
        ports.push_back(ring->port(channel.outgoing));
        ports.back().peer = static_cast<uint32_t>(channel.peer);
      }
    }
    ports_.push_back(std::move(ports));
    Launch launch;
    const Image& image = images_[launches_.size()];
    copies_.emplace_back(image.bytes.size() / sizeof(Line) + 1);
    std::memcpy(copies_.back().data(), image.bytes.data(), image.bytes.size());
    gpu::bind(launch, image, reinterpret_cast<const std::byte*>(copies_.back().data()));
    notes_.emplace_back(launch.lane_count * options_.shards);
    buffers_.emplace_back(launch.lane_count * options_.shards * programs_.size());
    if (options_.direct) launch.buffers = buffers_.back().data();
    launch.ranks = static_cast<uint32_t>(programs_.size());
    launch.shards = options_.shards;
    launch.ordered = options_.ordered;
    launch.ports = ports_.back().data();
    launch.peer_scratch = addresses_.data();
    launch.scratch = addresses_[launches_.size()];
    launch.scratch_bytes = program.scratch_chunks * tile_bytes_;
    launch.notes = notes_.back().data();
    launch.abort = &abort_;
    launches_.push_back(launch);
  }

  const RingOptions options_;
  std::vector<Program> programs_;
  size_t tile_bytes_ = 0;
  uint64_t abort_ = 0;
  struct alignas(32) Line {
    std::byte bytes[32];
  };
  struct alignas(16) Chunk {
    std::byte bytes[16];
  };
  std::vector<std::vector<Chunk>> scratch_;
  std::vector<std::byte*> addresses_;
  std::vector<Image> images_;
  std::vector<std::vector<Line>> copies_;
  std::vector<std::vector<Port>> ports_;
  std::vector<std::vector<Note>> notes_;
  std::vector<std::vector<BuffersOfRank>> buffers_;
  std::map<std::tuple<Rank, Rank, uint32_t, uint32_t>, std::unique_ptr<RingMemory>> rings_;
  std::vector<Launch> launches_;
  std::vector<std::thread> threads_;
};

}  // namespace weir::exec::gpu
