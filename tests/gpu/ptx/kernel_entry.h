// SPDX-License-Identifier: Apache-2.0
/// What translated kernels call: the thread that runs them, and the way in from the host.
///
/// A block is a set of fibers, one for each thread. All fibers of all blocks run in turns, in random order,
/// one at a time, whatever host threads called run_block(). Tests: tests/gpu/ptx/machine_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/gpu/ptx/control.h"

namespace weir::ptx {

enum class Order : uint8_t { weak, relaxed, acquire, release };
enum class Space : uint8_t { generic, global, shared };
enum class Shuffle : uint8_t { up, down, idx, bfly };
struct Shuffled {
  uint32_t value = 0;
  bool valid = false;  ///< the other thread was in reach
};

struct ThreadState;

/// A thread of a block, as the translated code sees it.
class Thread {
 public:
  explicit Thread(ThreadState& state) : state_(state) {}

  uint32_t thread() const;
  uint32_t threads() const;
  uint32_t block() const;
  uint32_t blocks() const;
  uint64_t argument() const;
  uint64_t shared(uint64_t offset) const;

  /// So many instructions are about to be executed.
  void count(uint32_t instructions);
  void pause();
  void fence();
  bool barrier(bool said);
  Shuffled shuffle(Shuffle kind, uint32_t value, uint32_t lane, uint32_t bounds, uint32_t members);

  template <Order kOrder, Space kSpace, typename T, size_t kCount>
  void load(uint64_t at, T (&got)[kCount]) {
    before_access(at, sizeof(got));
    for (size_t i = 0; i < kCount; ++i) {
      const uint64_t bits = load_bits(at + i * sizeof(T), sizeof(T), kOrder, kSpace);
      __builtin_memcpy(&got[i], &bits, sizeof(T));
    }
  }
  template <Order kOrder, Space kSpace, typename T, size_t kCount>
  void store(uint64_t at, const T (&given)[kCount]) {
    before_access(at, sizeof(given));
    for (size_t i = 0; i < kCount; ++i) {
      uint64_t bits = 0;
      __builtin_memcpy(&bits, &given[i], sizeof(T));
      store_bits(at + i * sizeof(T), sizeof(T), kOrder, kSpace, bits);
    }
  }

 private:
  /// Lets another thread go on, perhaps. Ends the process where an address is not aligned.
  void before_access(uint64_t address, size_t bytes);
  uint64_t load_bits(uint64_t address, uint32_t bytes, Order order, Space space);
  void store_bits(uint64_t address, uint32_t bytes, Order order, Space space, uint64_t value);

  ThreadState& state_;
};

/// One block of a kernel.
struct BlockCall {
  void (*code)(Thread&) = nullptr;
  const void* argument = nullptr;
  uint32_t block = 0;
  uint32_t blocks = 1;
  uint32_t shared_bytes = 0;
};
/// Runs a block; returns when all its threads have. Thread-safe: blocks of several calls run together.
void run_block(const BlockCall& call);

}  // namespace weir::ptx
