// SPDX-License-Identifier: Apache-2.0
/// The machine on which translated kernels run: it holds the threads of all blocks, picks the next one at
/// random, and owns what blocks share: the memory model and the counts.
///
/// The memory model is weaker than the host's. A store first lies in a buffer of its thread, after a barrier
/// in one of its block, and reaches memory late and out of order; a release or a fence waits for the buffers
/// of the thread and of its block. Loads are executed in the order of the program; a missing acquire shows as
/// a race.
///
/// Thread-safe: run() and the functions of control.h. The others are called by the fiber that runs.
/// Tests: tests/gpu/ptx/machine_test.cc
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "tests/gpu/ptx/fiber.h"
#include "tests/gpu/ptx/kernel_entry.h"
#include "tests/gpu/ptx/race_shadow.h"
#include "tests/gpu/ptx/store_buffer.h"

namespace weir::ptx {

struct BlockState;

struct ThreadState {
  BlockState* block = nullptr;
  uint32_t index = 0;
  uint32_t name = 0;  ///< in moments
  uint32_t releases = 0;
  bool said = false;  ///< at the barrier
  Fiber fiber;
  StoreBuffer stores;
  std::unique_ptr<Knowledge> own;       ///< null: what the block knows
  std::unique_ptr<Knowledge> relaxed;   ///< what relaxed loads saw: known after the next fence
  std::unique_ptr<Knowledge> fenced;    ///< what relaxed stores after a fence release
  uint32_t shuffled = 0, shuffles = 0;  ///< value of the last shuffle, and their number

  const Knowledge& known() const;
  void learn(const Knowledge& more);
};

struct BlockState {
  BlockCall call;
  uint32_t number = 0;  ///< among the blocks since the machine was idle
  uint32_t barriers = 0;
  uint32_t alive = 0;
  bool result = false;  ///< of the last barrier
  std::vector<ThreadState*> waiting;
  std::vector<ThreadState> threads;
  std::vector<uint64_t> shared;
  std::byte* stacks = nullptr;
  Knowledge known;
  StoreBuffer stores;
};

class Machine {
 public:
  static Machine& get();

  void set(const Settings& settings);
  void take(Report& report);
  void run(const BlockCall& call);

  uint32_t random();
  bool one_in(uint32_t chance) { return random() % chance == 0; }
  const Settings& settings() const { return settings_; }
  Counts& counts(const ThreadState& thread) { return thread.index == 0 ? report_.leaders : report_.others; }

  /// The thread waits for all others of its block; returns what any of them said.
  bool barrier(ThreadState& thread, bool said);
  uint64_t load(ThreadState& thread, uint64_t address, uint32_t bytes, Order order, Space space);
  void store(ThreadState& thread, uint64_t address, uint32_t bytes, Order order, Space space, uint64_t value);
  void fence(ThreadState& thread);

 private:
  void add(BlockState& block);
  void remove(BlockState& block);
  void go_on(size_t at);
  void slice(const BlockState& until);
  void pass_barrier(BlockState& block);
  void drain_some(ThreadState& thread);
  void drain(StoreBuffer& buffer);
  void commit(const Store& store);
  void check(const ThreadState& thread, uint64_t address, uint32_t bytes, bool writes, Order order);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool running_ = false;
  bool begun_ = false;
  uint32_t blocks_ = 0;  ///< that run
  uint32_t numbers_ = 0;
  std::vector<BlockState*> added_;

  Settings settings_;
  Report report_;
  uint64_t state_ = 1;
  std::vector<ThreadState*> ready_;
  Knowledge ended_;
  RaceShadow shadow_;
  std::unordered_map<uint64_t, Knowledge> released_;
};

}  // namespace weir::ptx
