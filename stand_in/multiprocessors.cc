// SPDX-License-Identifier: Apache-2.0

#include "stand_in/multiprocessors.h"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "src/base/time_slice.h"
#include "stand_in/device_list.h"
#include "stand_in/world.h"

namespace fake {
namespace {

// Of a multiprocessor, as of an H100. Kernels of the host have no registers: all need the same number.
constexpr unsigned kThreads = 2048;
constexpr unsigned kBlocks = 32;
constexpr unsigned kRegisters = 65536;
constexpr size_t kSharedBytes = size_t{228} << 10;
constexpr unsigned kMostThreadsOfBlock = 1024;

int number_in(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::max(std::atoi(text), 1) : otherwise;
}

/// What is left of a multiprocessor.
struct Room {
  unsigned threads = kThreads;
  unsigned blocks = kBlocks;
  unsigned registers = kRegisters;
  size_t shared_bytes = kSharedBytes;
};

unsigned registers_of(const BlockShape& shape) {
  return shape.threads * static_cast<unsigned>(number_in("WEIR_FAKE_GPU_REGISTERS", 32));
}

struct Launch {
  const BlockShape& shape;
  const std::function<void(unsigned)>& run;
  unsigned running = 0;  ///< blocks that have begun and not ended
  std::condition_variable ended = {};
};

/// A block for which there is room.
struct GivenBlock {
  Launch* launch;
  Room* room;
  unsigned number;
};

/// Of one GPU. Threads that have run a block wait for the next one.
struct Processors {
  std::mutex mutex;
  std::condition_variable changed;  ///< a launch has begun, or a block has ended
  std::condition_variable given;    ///< there is a block to run
  std::vector<Room> rooms;
  std::vector<GivenBlock> blocks;  ///< that no thread has taken yet
  size_t idle = 0;                 ///< threads that will take one: at least as many as these blocks
  uint64_t launches = 0;
  uint64_t begun = 0;  ///< launches whose blocks have all begun

  /// Never destroyed: threads outlive main().
  static Processors& of(int gpu) {
    static auto* const all = new Processors[kMostGpus];
    return all[gpu];
  }

  /// The first one with room for the block; null: none. REQUIRES: the mutex.
  Room* room_for(const BlockShape& shape) {
    const unsigned registers = registers_of(shape);
    for (Room& room : rooms)
      if (room.blocks > 0 && room.threads >= shape.threads && room.registers >= registers &&
          room.shared_bytes >= shape.shared_bytes)
        return &room;
    return nullptr;
  }
};

void occupy(Room& room, const BlockShape& shape) {
  --room.blocks;
  room.threads -= shape.threads;
  room.registers -= registers_of(shape);
  room.shared_bytes -= shape.shared_bytes;
}

void vacate(Room& room, const BlockShape& shape) {
  ++room.blocks;
  room.threads += shape.threads;
  room.registers += registers_of(shape);
  room.shared_bytes += shape.shared_bytes;
}

/// Never returns.
void run_given_blocks(Processors& processors) {
  // Blocks yield while they wait for each other, and a thread that yields beside threads that compute gets
  // the core again after one of its slices (Linux 6.18): the shorter they are, the sooner.
  weir::ShortTimeSlice().ask();
  std::unique_lock lock(processors.mutex);
  while (true) {
    processors.given.wait(lock, [&] { return !processors.blocks.empty(); });
    const GivenBlock block = processors.blocks.back();
    processors.blocks.pop_back();
    --processors.idle;
    lock.unlock();
    block.launch->run(block.number);
    lock.lock();
    ++processors.idle;
    vacate(*block.room, block.launch->shape);
    processors.changed.notify_all();
    if (--block.launch->running == 0) block.launch->ended.notify_one();
  }
}

/// To a thread of its own: blocks may wait for each other. REQUIRES: the mutex.
void give(Processors& processors, const GivenBlock& block) {
  processors.blocks.push_back(block);
  if (processors.blocks.size() <= processors.idle) return processors.given.notify_one();
  std::thread(run_given_blocks, std::ref(processors)).detach();
  ++processors.idle;
}

}  // namespace

int multiprocessors() { return std::max(number_in("WEIR_FAKE_GPU_MULTIPROCESSORS", 8) / instances(), 1); }

int resident_blocks(const BlockShape& shape) {
  if (shape.threads == 0 || shape.threads > kMostThreadsOfBlock) return 0;
  unsigned blocks = std::min({kBlocks, kThreads / shape.threads, kRegisters / registers_of(shape)});
  if (shape.shared_bytes > 0)
    blocks = static_cast<unsigned>(std::min<size_t>(blocks, kSharedBytes / shape.shared_bytes));
  return static_cast<int>(blocks);
}

void run_blocks(int gpu, const BlockShape& shape, unsigned blocks, const std::function<void(unsigned)>& run) {
  Processors& processors = Processors::of(gpu);
  Launch launch{shape, run};
  std::unique_lock lock(processors.mutex);
  if (processors.rooms.empty()) processors.rooms.resize(static_cast<size_t>(multiprocessors()));
  const uint64_t number = processors.launches++;
  processors.changed.wait(lock, [&] { return processors.begun == number; });
  for (unsigned block = 0; block < blocks; ++block) {
    Room* room = nullptr;
    processors.changed.wait(lock, [&] { return (room = processors.room_for(shape)) != nullptr; });
    occupy(*room, shape);
    ++launch.running;
    give(processors, {&launch, room, block});
  }
  ++processors.begun;
  processors.changed.notify_all();
  launch.ended.wait(lock, [&] { return launch.running == 0; });
}

}  // namespace fake
