// SPDX-License-Identifier: Apache-2.0
/// The shared memory of the ranks of a reference, and their synchronization.
///
/// Per rank: a cache line that counts announcements, inline messages (cache lines with payload and flag), and
/// two halves for staged data. Only the owner writes them; all ranks read them. One round is one exchange;
/// round k uses the inline message and half with parity k % 2. A rank that is in round k + 1 has read all of
/// round k, and no rank starts round k + 2 before it has seen all others in round k + 1, so two of each are
/// enough.
#pragma once

#include <sched.h>
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace reference {

struct alignas(64) InlineMessage {
  static constexpr size_t kFloats = 14;
  float payload[kFloats];
  std::atomic<uint64_t> round;  ///< written last
};
static_assert(sizeof(InlineMessage) == 64);

inline constexpr size_t kInlineMessages = 4;

/// Zeroed memory that children of fork() share, on huge pages if the system grants them.
inline char* map_shared(size_t bytes) {
  void* memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("reference: cannot map shared memory");
    std::exit(1);
  }
  madvise(memory, bytes, MADV_HUGEPAGE);
  return static_cast<char*>(memory);
}

class Board {
 public:
  static constexpr size_t kHalfBytes = 1 << 20;

  /// Called before the ranks are forked.
  Board(int ranks, bool crowded)
      : ranks_(ranks), crowded_(crowded), memory_(map_shared(sizeof(Desk) * static_cast<size_t>(ranks))) {}

  void adopt(int rank) { rank_ = rank; }
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  bool crowded() const { return crowded_; }

  uint64_t next_round() { return ++round_; }
  InlineMessage* inline_messages(int rank) const { return desk(rank).inline_messages[round_ % 2]; }
  float* half(int rank) const { return desk(rank).half[round_ % 2]; }

  /// Announces to all ranks that everything that this rank has written so far may be read.
  void announce() { desk(rank_).announced.store(++announced_, std::memory_order_release); }
  /// Waits until `peer` has announced as often as this rank.
  void await(int peer) const {
    for (int looks = 0; desk(peer).announced.load(std::memory_order_acquire) < announced_; ++looks)
      relax(looks);
  }
  void await_all() const {
    for (int i = 1; i < ranks_; ++i) await((rank_ + i) % ranks_);
  }
  const float* read(const InlineMessage& message) const {
    for (int looks = 0; message.round.load(std::memory_order_acquire) != round_; ++looks) relax(looks);
    return message.payload;
  }

 private:
  struct Desk {
    alignas(4096) std::atomic<uint64_t> announced;
    alignas(256) InlineMessage inline_messages[2][kInlineMessages];
    alignas(4096) float half[2][kHalfBytes / sizeof(float)];
  };

  Desk& desk(int rank) const { return reinterpret_cast<Desk*>(memory_)[rank]; }

  /// If every rank has a core, spins, and yields only after many polls, when another process probably
  /// occupies the peer's core. If ranks share cores, yields at once.
  void relax(int looks) const {
    constexpr int kSpinLimit = 20'000;
    if (crowded_ || looks > kSpinLimit) {
      sched_yield();
    } else {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
  }

  int rank_ = 0;
  int ranks_;
  bool crowded_;
  char* memory_;
  uint64_t round_ = 0;
  uint64_t announced_ = 0;
};

}  // namespace reference
