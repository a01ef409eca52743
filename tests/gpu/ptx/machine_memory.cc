// SPDX-License-Identifier: Apache-2.0
// The memory model of the machine.
#include <unistd.h>

#include <cinttypes>
#include <cstdio>

#include "tests/gpu/ptx/machine.h"

namespace weir::ptx {
namespace {

constexpr size_t kMostOfThread = 8;   // stores that a thread buffers
constexpr size_t kMostOfBlock = 64;   // and a block
constexpr uint32_t kDrainsOneIn = 8;  // accesses after which one more store reaches memory

bool is_atomic(Order order) { return order != Order::weak; }

uint64_t load_memory(uint64_t address, uint32_t bytes) {
  switch (bytes) {
    case 1: return __atomic_load_n(reinterpret_cast<const uint8_t*>(address), __ATOMIC_ACQUIRE);
    case 2: return __atomic_load_n(reinterpret_cast<const uint16_t*>(address), __ATOMIC_ACQUIRE);
    case 4: return __atomic_load_n(reinterpret_cast<const uint32_t*>(address), __ATOMIC_ACQUIRE);
    default: return __atomic_load_n(reinterpret_cast<const uint64_t*>(address), __ATOMIC_ACQUIRE);
  }
}
void store_memory(uint64_t address, uint32_t bytes, uint64_t value) {
  switch (bytes) {
    case 1:
      return __atomic_store_n(reinterpret_cast<uint8_t*>(address), static_cast<uint8_t>(value),
                              __ATOMIC_RELEASE);
    case 2:
      return __atomic_store_n(reinterpret_cast<uint16_t*>(address), static_cast<uint16_t>(value),
                              __ATOMIC_RELEASE);
    case 4:
      return __atomic_store_n(reinterpret_cast<uint32_t*>(address), static_cast<uint32_t>(value),
                              __ATOMIC_RELEASE);
    default: return __atomic_store_n(reinterpret_cast<uint64_t*>(address), value, __ATOMIC_RELEASE);
  }
}

}  // namespace

void Machine::check(const ThreadState& thread, uint64_t address, uint32_t bytes, bool writes, Order order) {
  const Moment now{thread.name, thread.block->barriers, thread.releases};
  const RaceShadow::Access before =
      shadow_.note(address, bytes, {now, writes, is_atomic(order)}, thread.known());
  if (before.moment.thread == 0 || report_.races++ > 0) return;
  std::snprintf(report_.first, sizeof(report_.first),
                "thread %u of block %u %s %u bytes at %#" PRIx64 " that thread %u of launched block %u %s",
                thread.index, thread.block->call.block, writes ? "writes" : "reads", bytes, address,
                (before.moment.thread - 1) % Moment::kMostThreads, before.moment.block(),
                before.writes ? "wrote" : "read");
  if (!settings_.ends) return;
  std::fprintf(stderr, "race: %s\n", report_.first);
  _exit(kRaceExit);
}

void Machine::commit(const Store& store) {
  store_memory(store.address, store.bytes, store.value);
  if (store.releases) {
    released_[store.address] = *store.releases;
  } else if (store.relaxed) {
    released_.erase(store.address);
  }
}

void Machine::drain(StoreBuffer& buffer) {
  while (!buffer.empty()) commit(buffer.take(random() % buffer.size()));
}

/// A store of the thread reaches memory only behind those of its block to the same place.
void Machine::drain_some(ThreadState& thread) {
  StoreBuffer& block = thread.block->stores;
  while (block.size() > kMostOfBlock) commit(block.take(random() % block.size()));
  if (!block.empty() && one_in(kDrainsOneIn)) commit(block.take(random() % block.size()));
  if (thread.stores.empty() || (thread.stores.size() <= kMostOfThread && !one_in(kDrainsOneIn))) return;
  const Store store = thread.stores.take(random() % thread.stores.size());
  if (block.has(store.address)) drain(block);
  commit(store);
}

uint64_t Machine::load(ThreadState& thread, uint64_t address, uint32_t bytes, Order order, Space space) {
  check(thread, address, bytes, false, order);
  if (space == Space::shared) return load_memory(address, bytes);
  ++counts(thread).loads;
  drain_some(thread);
  uint64_t value = load_memory(address, bytes);
  auto* const raw = reinterpret_cast<unsigned char*>(&value);
  const bool of_block = thread.block->stores.overlay(address, bytes, raw);
  const bool own = thread.stores.overlay(address, bytes, raw);
  if (!is_atomic(order)) return value;
  if (order == Order::acquire) ++counts(thread).acquires;
  const auto found = released_.find(address);
  if (of_block || own || found == released_.end()) return value;
  if (order == Order::acquire) {
    thread.learn(found->second);
  } else {
    if (thread.relaxed == nullptr) thread.relaxed = std::make_unique<Knowledge>();
    thread.relaxed->join(found->second);
  }
  return value;
}

void Machine::store(ThreadState& thread, uint64_t address, uint32_t bytes, Order order, Space space,
                    uint64_t value) {
  check(thread, address, bytes, true, order);
  if (space == Space::shared) return store_memory(address, bytes, value);
  ++counts(thread).stores;
  Store made{address, value, bytes, is_atomic(order), std::nullopt};
  if (order == Order::release) {
    ++counts(thread).releases;
    drain(thread.block->stores);
    drain(thread.stores);
    made.releases = thread.known();
    made.releases->learn_release(thread.name, ++thread.releases);
  } else if (order == Order::relaxed && thread.fenced != nullptr) {
    made.releases = *thread.fenced;
  }
  thread.stores.push(std::move(made));
  drain_some(thread);
}

void Machine::fence(ThreadState& thread) {
  ++counts(thread).fences;
  drain(thread.block->stores);
  drain(thread.stores);
  if (thread.relaxed != nullptr) thread.learn(*thread.relaxed);
  thread.fenced = std::make_unique<Knowledge>(thread.known());
  thread.fenced->learn_release(thread.name, ++thread.releases);
}

}  // namespace weir::ptx
