// SPDX-License-Identifier: Apache-2.0
/// Help for tests of weir_pairs: ranks whose blocks are threads of the host, and messages among them.
#pragma once

#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "src/exec/gpu/pair_table.h"
#include "tests/exec/gpu_ranks.h"

namespace weir::exec::gpu {

/// The test that uses ranks defines it.
HostPairsKernel pairs_kernel();

inline constexpr size_t kSlotBytes = 4096;

/// Ranks with rings between all of them; each has a launch with a given number of blocks.
class PairRanks {
 public:
  PairRanks(int ranks, uint32_t rings, uint32_t blocks) : cut_{rings, kSlotBytes}, blocks_(blocks) {
    for (int i = 0; i < ranks * ranks * static_cast<int>(rings); ++i)
      rings_.push_back(std::make_unique<RingMemory>(RingProtocol::bandwidth, 2, kSlotBytes, 0));
    for (Rank rank = 0; rank < ranks; ++rank) {
      GpuRank& gpu_rank = gpu_ranks_.emplace_back();
      for (Rank peer = 0; peer < ranks; ++peer) {
        for (const bool sends : {false, true}) {
          for (uint32_t ring = 0; ring < rings; ++ring) {
            const Rank from = sends ? rank : peer, to = sends ? peer : rank;
            const auto at = static_cast<uint32_t>(from * ranks + to) * rings + ring;
            gpu_rank.ports.push_back(rings_[at]->port(sends));
            gpu_rank.ports.back().peer = static_cast<uint32_t>(peer);
          }
        }
      }
      gpu_rank.notes.resize(blocks);
    }
  }
  /// Begins the call of a rank. `along`: the table is in the argument.
  void start(Rank rank, std::span<const PeerTransfer> pairs, bool along = true) {
    GpuRank& gpu_rank = gpu_ranks_[static_cast<size_t>(rank)];
    const PairTable table = pair_table(pairs, cut_);
    PairsLaunch& launch = gpu_rank.launch;
    gpu_rank.progress.assign(table.directions * table.rings, {77, 77});
    launch.ports = gpu_rank.ports.data();
    launch.progress = gpu_rank.progress.data();
    launch.notes = gpu_rank.notes.data();
    launch.abort = &abort_;
    launch.directions = table.directions;
    launch.rings = table.rings;
    launch.blocks = blocks_;
    gpu_rank.table.assign(table.bytes.size() / 8, 0);
    for (size_t at = 0; at < table.bytes.size(); at += PairsLaunch::kOwnBytes) {
      launch.own_bytes =
          static_cast<uint32_t>(std::min<size_t>(table.bytes.size() - at, PairsLaunch::kOwnBytes));
      std::memcpy(launch.own, table.bytes.data() + at, launch.own_bytes);
      launch.store = reinterpret_cast<std::byte*>(gpu_rank.table.data()) + at;
      if (!along) kernel_(&launch, 0, 1);
    }
    launch.store = nullptr;
    launch.table = along ? nullptr : reinterpret_cast<const std::byte*>(gpu_rank.table.data());
    for (uint32_t block = 0; block < blocks_; ++block)
      threads_.emplace_back([this, &launch, block] { kernel_(&launch, block, blocks_); });
  }
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  void abort() { __atomic_store_n(&abort_, 1, __ATOMIC_RELEASE); }
  Note& note(Rank rank) { return gpu_ranks_[static_cast<size_t>(rank)].notes[0]; }

 private:
  struct GpuRank {
    std::vector<Port> ports;
    std::vector<Note> notes;
    std::vector<PairProgress> progress;
    std::vector<uint64_t> table;
    PairsLaunch launch;
  };
  const HostPairsKernel kernel_ = pairs_kernel();
  const PairCut cut_;
  const uint32_t blocks_;
  std::vector<std::unique_ptr<RingMemory>> rings_;
  std::deque<GpuRank> gpu_ranks_;
  std::vector<std::thread> threads_;
  uint64_t abort_ = 0;
};

/// Messages of random sizes and addresses among all ranks. Returns what is wrong, or nothing.
inline std::string exchange(PairRanks& all, int ranks, size_t messages, bool along, uint32_t seed,
                            size_t most = 200'000) {
  std::mt19937 random(seed);
  std::deque<std::vector<std::byte>> memory;
  struct Message {
    const std::byte *from, *to;
    size_t bytes;
  };
  std::vector<Message> expected;
  std::vector<std::vector<PeerTransfer>> pairs(static_cast<size_t>(ranks));
  for (size_t i = 0; i < messages; ++i) {
    const auto from = static_cast<Rank>(random() % static_cast<uint32_t>(ranks));
    const auto to = static_cast<Rank>(random() % static_cast<uint32_t>(ranks));
    const size_t bytes = i % 4 == 0 ? random() % most : random() % 40, shift = random() % 17;
    auto& in = memory.emplace_back(bytes + shift + 1);
    auto& out = memory.emplace_back(bytes + shift / 2 + 1);
    for (std::byte& byte : in) byte = static_cast<std::byte>(random());
    pairs[static_cast<size_t>(from)].push_back({to, true, in.data() + shift, bytes});
    pairs[static_cast<size_t>(to)].push_back({from, false, out.data() + shift / 2, bytes});
    expected.push_back({in.data() + shift, out.data() + shift / 2, bytes});
  }
  for (Rank rank = 0; rank < ranks; ++rank) all.start(rank, pairs[static_cast<size_t>(rank)], along);
  all.join();
  for (size_t i = 0; i < messages; ++i) {
    const auto& [from, to, bytes] = expected[i];
    if (std::memcmp(from, to, bytes) != 0)
      return "message " + std::to_string(i) + " of " + std::to_string(bytes) + " bytes";
    if (to[bytes] != std::byte{0}) return "beyond message " + std::to_string(i);
  }
  return {};
}

}  // namespace weir::exec::gpu
