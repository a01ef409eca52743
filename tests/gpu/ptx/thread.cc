// SPDX-License-Identifier: Apache-2.0
// The operations of a thread of translated code.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "tests/gpu/ptx/machine.h"

namespace weir::ptx {

uint32_t Thread::thread() const { return state_.index; }
uint32_t Thread::threads() const { return static_cast<uint32_t>(state_.block->threads.size()); }
uint32_t Thread::block() const { return state_.block->call.block; }
uint32_t Thread::blocks() const { return state_.block->call.blocks; }
uint64_t Thread::argument() const { return reinterpret_cast<uint64_t>(state_.block->call.argument); }
uint64_t Thread::shared(uint64_t offset) const {
  return reinterpret_cast<uint64_t>(state_.block->shared.data()) + offset;
}

void Thread::count(uint32_t instructions) { Machine::get().counts(state_).instructions += instructions; }
void Thread::pause() { state_.fiber.stop(); }
void Thread::fence() { Machine::get().fence(state_); }
bool Thread::barrier(bool said) {
  ++Machine::get().counts(state_).barriers;
  return Machine::get().barrier(state_, said);
}

/// The threads of `members` wait for each other, and each takes the value of one of them.
Shuffled Thread::shuffle(Shuffle kind, uint32_t value, uint32_t lane, uint32_t bounds, uint32_t members) {
  constexpr uint32_t kWarp = 32;
  std::vector<ThreadState>& all = state_.block->threads;
  const uint32_t first = state_.index / kWarp * kWarp, own = state_.index % kWarp;
  const uint32_t segment = bounds >> 8 & 31, clamp = bounds & 31;
  const uint32_t lowest = own & segment, highest = lowest | (clamp & ~segment);
  uint32_t other = own;
  switch (kind) {
    case Shuffle::up: other = own - lane; break;
    case Shuffle::down: other = own + lane; break;
    case Shuffle::idx: other = lowest | (lane & ~segment); break;
    case Shuffle::bfly: other = own ^ lane; break;
  }
  // A value stays until all have taken it: two rounds, each of which waits for all.
  const auto wait_for_all = [&] {
    const uint32_t round = ++state_.shuffles;
    for (uint32_t i = 0; i < kWarp; ++i)
      if ((members >> i & 1) != 0)
        while (static_cast<int32_t>(all[first + i].shuffles - round) < 0) state_.fiber.stop();
  };
  state_.shuffled = value;
  wait_for_all();
  const bool valid =
      kind == Shuffle::up ? static_cast<int32_t>(other) >= static_cast<int32_t>(clamp) : other <= highest;
  const Shuffled result{valid ? all[first + other].shuffled : value, valid};
  wait_for_all();
  return result;
}

void Thread::before_access(uint64_t address, size_t bytes) {
  if (address % bytes != 0) {
    std::fprintf(stderr, "thread %u of block %u: %zu bytes at %#" PRIx64 ", which is not aligned\n",
                 state_.index, block(), bytes, address);
    std::abort();
  }
  if (Machine::get().one_in(Machine::get().settings().chance)) state_.fiber.stop();
}
uint64_t Thread::load_bits(uint64_t address, uint32_t bytes, Order order, Space space) {
  return Machine::get().load(state_, address, bytes, order, space);
}
void Thread::store_bits(uint64_t address, uint32_t bytes, Order order, Space space, uint64_t value) {
  Machine::get().store(state_, address, bytes, order, space, value);
}

void run_block(const BlockCall& call) { Machine::get().run(call); }

}  // namespace weir::ptx
