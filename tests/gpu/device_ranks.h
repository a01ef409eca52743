// SPDX-License-Identifier: Apache-2.0
/// Help for tests on a GPU: ranks whose lanes are blocks of the kernels in the GPU's own code, a launch and a
/// stream per rank, over rings in memory of the one GPU.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "src/device/gpu_kernels.h"
#include "src/exec/gpu/image.h"

namespace weir::exec::gpu {

/// Memory of the GPU that is filled on the host first: places are dealt out, then all is copied at once.
class Arena {
 public:
  Arena(device::Gpu& gpu, size_t bytes) : gpu_(gpu), mirror_(bytes) {
    auto memory = gpu.allocate(bytes, device::GpuMemory::device);
    EXPECT_TRUE(memory.ok()) << memory.status().message();
    if (memory.ok()) base_ = static_cast<std::byte*>(*memory);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() {
    if (base_ == nullptr) return;
    EXPECT_TRUE(gpu_.free(base_, device::GpuMemory::device).ok());
  }

  /// A place on the GPU, aligned to 64 bytes, that begins with what `from` has, or with zeros if it is null.
  template <typename T>
  T* put(const T* from, size_t count) {
    used_ = (used_ + 63) / 64 * 64;
    const size_t at = used_;
    used_ += count * sizeof(T);
    if (base_ == nullptr || used_ > mirror_.size()) {
      ADD_FAILURE() << used_ << " bytes are more than the arena's " << mirror_.size();
      return nullptr;
    }
    if (from != nullptr) std::memcpy(mirror_.data() + at, from, count * sizeof(T));
    return reinterpret_cast<T*>(base_ + at);
  }
  Status write(device::GpuStream stream) { return gpu_.copy(base_, mirror_.data(), used_, stream); }
  Status read(const void* place, void* to, size_t bytes, device::GpuStream stream) {
    return gpu_.copy(to, place, bytes, stream);
  }

 private:
  device::Gpu& gpu_;
  std::vector<std::byte> mirror_;
  std::byte* base_ = nullptr;
  size_t used_ = 0;
};

/// Programs of all ranks on one GPU, for one operation.
class DeviceRanks {
 public:
  struct Options {
    RingProtocol protocol = RingProtocol::bandwidth;
    bool ordered = true;
    uint32_t shards = 1;
    uint32_t threads = 256;
    uint32_t slots = 2;
    uint32_t slot_bytes = 4096;
  };

  DeviceRanks(device::Gpu& gpu, device::GpuKernel kernel, std::vector<Program> programs,
              const Options& options)
      : gpu_(gpu), kernel_(kernel), options_(options), programs_(std::move(programs)), arena_(gpu, 8u << 20) {
    tile_bytes_ = options.slot_bytes / programs_[0].message_chunks / kGrainBytes * kGrainBytes;
    abort_ = arena_.put<uint64_t>(nullptr, 1);
    for (const Program& program : programs_)
      scratch_.push_back(
          arena_.put<std::byte>(nullptr, options.shards * program.scratch_chunks * tile_bytes_ + 1));
    auto* const peers = arena_.put<const std::byte*>(scratch_.data(), scratch_.size());
    for (const Program& program : programs_) bind(program, peers);
  }

  /// Each rank's input is read from and its output written to memory of the host that `works` names; `sizes`
  /// are the bytes of both, by rank. Fails the test on trouble.
  void run(std::vector<Work> works, const std::vector<std::pair<size_t, size_t>>& sizes) {
    std::vector<device::GpuStream> streams;
    std::vector<std::pair<std::byte*, const std::byte*>> results;
    for (size_t rank = 0; rank < programs_.size(); ++rank) {
      Work& work = works[rank];
      results.emplace_back(work.output, arena_.put<std::byte>(work.output, sizes[rank].second));
      work.input = arena_.put<std::byte>(work.input, sizes[rank].first);
      work.output = const_cast<std::byte*>(results.back().second);
      const Status set = set_work(launches_[rank], programs_[rank], work, tile_bytes_);
      ASSERT_TRUE(set.ok()) << set.message();
      auto stream = gpu_.make_stream();
      ASSERT_TRUE(stream.ok()) << stream.status().message();
      streams.push_back(*stream);
    }
    ASSERT_TRUE(arena_.write(streams[0]).ok());
    ASSERT_TRUE(gpu_.synchronize(streams[0]).ok());
    for (size_t rank = 0; rank < programs_.size(); ++rank) start(launches_[rank], streams[rank]);
    for (size_t rank = 0; rank < programs_.size(); ++rank) {
      const Status copied =
          arena_.read(results[rank].second, results[rank].first, sizes[rank].second, streams[rank]);
      ASSERT_TRUE(copied.ok()) << copied.message();
      const Status done = gpu_.synchronize(streams[rank]);
      ASSERT_TRUE(done.ok()) << done.message();
      EXPECT_TRUE(gpu_.destroy_stream(streams[rank]).ok());
    }
  }

 private:
  struct Ring {
    std::byte* slots;
    uint64_t* arrived;
    uint64_t* taken;
  };

  void start(Launch& launch, device::GpuStream stream) {
    void* arguments[] = {&launch};
    device::GpuLaunch what;
    what.kernel = kernel_;
    what.blocks = launch.lane_count * launch.shards;
    what.threads = options_.threads;
    what.arguments = arguments;
    const Status started = gpu_.kernels()->launch(what, stream);
    ASSERT_TRUE(started.ok()) << started.message();
  }

  Ring ring_of(Rank source, Rank target, uint32_t number, uint32_t shard) {
    auto [at, added] = rings_.try_emplace({source, target, number, shard});
    if (added) {
      const size_t stride = slot_stride(options_.protocol, options_.slot_bytes);
      at->second = {arena_.put<std::byte>(nullptr, options_.slots * stride),
                    arena_.put<uint64_t>(nullptr, arrived_words(options_.slots)),
                    arena_.put<uint64_t>(nullptr, 1)};
    }
    return at->second;
  }

  void bind(const Program& program, const std::byte** peers) {
    std::vector<Port> ports;
    for (uint32_t shard = 0; shard < options_.shards; ++shard) {
      for (const Channel& channel : program.channels) {
        const Rank source = channel.outgoing ? program.rank : channel.peer;
        const Rank target = channel.outgoing ? channel.peer : program.rank;
        const Ring ring = ring_of(source, target, channel.number, shard);
        Port& port = ports.emplace_back();
        port.slots = ring.slots;
        port.arrived = ring.arrived;
        port.taken = ring.taken;
        port.done = arena_.put<uint64_t>(nullptr, 1);
        port.count = options_.slots;
        port.stride = static_cast<uint32_t>(slot_stride(options_.protocol, options_.slot_bytes));
      }
    }
    const Image image = image_of(program);
    Launch launch;
    gpu::bind(launch, image,
              arena_.put(reinterpret_cast<const std::byte*>(image.bytes.data()), image.bytes.size()));
    launch.shards = options_.shards;
    launch.ordered = options_.ordered;
    launch.ports = arena_.put(ports.data(), ports.size());
    launch.peer_scratch = peers;
    launch.scratch = scratch_[launches_.size()];
    launch.scratch_bytes = program.scratch_chunks * tile_bytes_;
    launch.notes = arena_.put<Note>(nullptr, launch.lane_count * options_.shards);
    launch.abort = abort_;
    launches_.push_back(launch);
  }

  device::Gpu& gpu_;
  const device::GpuKernel kernel_;
  const Options options_;
  std::vector<Program> programs_;
  Arena arena_;
  size_t tile_bytes_ = 0;
  uint64_t* abort_ = nullptr;
  std::vector<std::byte*> scratch_;
  std::map<std::tuple<Rank, Rank, uint32_t, uint32_t>, Ring> rings_;
  std::vector<Launch> launches_;
};

}  // namespace weir::exec::gpu
