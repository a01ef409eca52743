// SPDX-License-Identifier: Apache-2.0

#include "tests/gpu/ptx/machine.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace weir::ptx {
namespace {

constexpr size_t kStackBytes = size_t{64} << 10;
constexpr int kSlice = 4096;  // turns until another host thread may add its block

void run_thread(void* state) {
  auto& thread = *static_cast<ThreadState*>(state);
  Thread view(thread);
  thread.block->call.code(view);
}

}  // namespace

const Knowledge& ThreadState::known() const { return own != nullptr ? *own : block->known; }
void ThreadState::learn(const Knowledge& more) {
  if (own == nullptr) own = std::make_unique<Knowledge>(block->known);
  own->join(more);
}

Machine& Machine::get() {
  static Machine machine;
  return machine;
}

void Machine::set(const Settings& settings) {
  const std::lock_guard lock(mutex_);
  settings_ = settings;
  state_ = settings.seed * 7919 + 1;
}

void Machine::take(Report& report) {
  const std::lock_guard lock(mutex_);
  report = report_;
  report_ = {};
}

uint32_t Machine::random() {
  state_ = state_ * 6364136223846793005u + 1442695040888963407u;
  return static_cast<uint32_t>(state_ >> 33);
}

void Machine::run(const BlockCall& call) {
  BlockState block;
  block.call = call;
  block.alive = settings_.threads;
  block.threads = std::vector<ThreadState>(settings_.threads);
  block.shared.assign(call.shared_bytes / sizeof(uint64_t) + 1, 0x5a5a5a5a5a5a5a5a);
  const size_t stack_bytes = kStackBytes * settings_.threads;
  void* const stacks =
      mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stacks == MAP_FAILED) std::abort();
  block.stacks = static_cast<std::byte*>(stacks);
  {
    std::unique_lock lock(mutex_);
    added_.push_back(&block);
    if (++blocks_ >= settings_.together) begun_ = true;
    changed_.notify_all();
    // One of the callers runs the machine for all.
    while (block.alive > 0) {
      if (running_ || !begun_) {
        changed_.wait(lock);
        continue;
      }
      running_ = true;
      for (BlockState* const one : added_) add(*one);
      added_.clear();
      lock.unlock();
      slice(block);
      std::this_thread::yield();
      lock.lock();
      running_ = false;
      changed_.notify_all();
    }
    remove(block);
  }
  munmap(stacks, stack_bytes);
}

void Machine::add(BlockState& block) {
  block.number = numbers_++;
  block.known = ended_;
  for (uint32_t i = 0; i < block.threads.size(); ++i) {
    ThreadState& thread = block.threads[i];
    thread.block = &block;
    thread.index = i;
    thread.name = 1 + block.number * Moment::kMostThreads + i;
    thread.fiber.prepare(run_thread, &thread, block.stacks + kStackBytes * i, kStackBytes);
    ready_.push_back(&thread);
  }
}

/// What comes later knows all of what has ended, as kernels of a stream do.
void Machine::remove(BlockState& block) {
  ended_.join(block.known);
  ended_.learn_barrier(block.number, block.barriers + 1);
  if (--blocks_ > 0) return;
  ended_ = Knowledge();
  numbers_ = 0;
  begun_ = false;
  released_.clear();
  shadow_.clear();
}

void Machine::slice(const BlockState& until) {
  for (int turn = 0; turn < kSlice && until.alive > 0 && !ready_.empty(); ++turn)
    go_on(random() % ready_.size());
}

void Machine::go_on(size_t at) {
  ThreadState& thread = *ready_[at];
  BlockState& block = *thread.block;
  const size_t waiting = block.waiting.size();
  thread.fiber.go_on();
  const bool waits = block.waiting.size() > waiting;
  if (waits || thread.fiber.ended()) {
    ready_[at] = ready_.back();
    ready_.pop_back();
  }
  if (thread.fiber.ended()) {
    while (!thread.stores.empty()) block.stores.push(thread.stores.take(0));
    if (thread.own != nullptr) block.known.join(*thread.own);
    if (--block.alive == 0) return drain(block.stores);
  }
  if (!block.waiting.empty() && block.waiting.size() == block.alive) pass_barrier(block);
}

bool Machine::barrier(ThreadState& thread, bool said) {
  thread.said = said;
  thread.block->waiting.push_back(&thread);
  thread.fiber.stop();
  return thread.block->result;
}

/// What threads stored before a barrier is what their block sees after it.
void Machine::pass_barrier(BlockState& block) {
  ++block.barriers;
  block.result = false;
  for (ThreadState* const thread : block.waiting) {
    block.result |= thread->said;
    while (!thread->stores.empty()) block.stores.push(thread->stores.take(0));
    if (thread->own != nullptr) block.known.join(*thread->own);
    thread->own.reset();
    ready_.push_back(thread);
  }
  block.known.learn_barrier(block.number, block.barriers);
  block.waiting.clear();
}

}  // namespace weir::ptx

void weir_ptx_set(const weir::ptx::Settings* settings) { weir::ptx::Machine::get().set(*settings); }
void weir_ptx_take(weir::ptx::Report* report) { weir::ptx::Machine::get().take(*report); }
