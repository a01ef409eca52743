// SPDX-License-Identifier: Apache-2.0

#include "stand_in/calls.h"

#include <unistd.h>

#include <cstring>

namespace fake {
namespace {

bool is_captured(const std::shared_ptr<Stream>& stream) {
  const std::lock_guard lock(World::get().mutex);
  return stream->capture != nullptr;
}

bool holds(uint32_t now, uint32_t value, unsigned how) {
  switch (how) {
    case 0: return static_cast<int32_t>(now - value) >= 0;
    case 1: return now == value;
    case 2: return (now & value) != 0;
    default: return ~(now | value) != 0;
  }
}

/// HIP hands values to the stream even where it is captured.
int queue(const std::shared_ptr<Stream>& stream, Work work, bool captured) {
  if (captured || !is_captured(stream)) return enqueue(stream, std::move(work));
  const std::lock_guard lock(World::get().mutex);
  push(stream, std::move(work), {});
  return kSuccess;
}

}  // namespace

int start() {
  if (fault_is_set("init")) return kUnknown;
  if (gpu_count() == 0) return kNoDevice;
  World& world = World::get();
  const std::lock_guard lock(world.mutex);
  if (world.process != 0 && world.process != getpid()) return kNotInitialized;
  world.process = getpid();
  return kSuccess;
}

int copy(void* to, const void* from, size_t bytes, const std::shared_ptr<Stream>& stream) {
  if (stream == nullptr) return kInvalidHandle;
  if (bytes == 0) return kSuccess;
  if (to == nullptr || from == nullptr) return kInvalidValue;
  if (fault_strikes("copy")) return kOutOfResources;
  const bool breaks = fault_strikes("fault"), captured = is_captured(stream);
  Block block;
  std::shared_ptr<std::vector<char>> taken;
  if (!captured && !find_block(from, &block)) {
    const char* const source = static_cast<const char*>(from);
    taken = std::make_shared<std::vector<char>>(source, source + bytes);
  }
  const int code = enqueue(stream, {nullptr, [=] {
                                      if (breaks) return static_cast<int>(kIllegalAddress);
                                      return copy_bytes(to, taken != nullptr ? taken->data() : from, bytes);
                                    }});
  if (code != kSuccess || captured || find_block(to, &block)) return code;
  return synchronize(stream);
}

int fill(void* to, int value, size_t bytes, const std::shared_ptr<Stream>& stream) {
  return enqueue(stream, {nullptr, [=] { return fill_bytes(to, value, bytes); }});
}

int fill_words(void* to, uint32_t value, size_t words, const std::shared_ptr<Stream>& stream) {
  return enqueue(stream, {nullptr, [=] {
                            for (size_t i = 0; i < words; ++i) {
                              const int code = copy_bytes(static_cast<char*>(to) + i * sizeof(value), &value,
                                                          sizeof(value));
                              if (code != kSuccess) return code;
                            }
                            return static_cast<int>(kSuccess);
                          }});
}

int call_host(void (*function)(void*), void* argument, const std::shared_ptr<Stream>& stream) {
  if (function == nullptr) return kInvalidValue;
  return enqueue(stream, {nullptr, [=] { return function(argument), static_cast<int>(kSuccess); }});
}

int write_value(void* address, uint32_t value, const std::shared_ptr<Stream>& stream, bool captured) {
  if (stream == nullptr) return kInvalidHandle;
  std::atomic<uint32_t>* const word = word_at(address);
  if (word == nullptr) return kInvalidValue;
  return queue(stream, {nullptr, [=] { return word->store(value), static_cast<int>(kSuccess); }}, captured);
}

int wait_value(void* address, uint32_t value, unsigned how, const std::shared_ptr<Stream>& stream,
               bool captured) {
  if (stream == nullptr) return kInvalidHandle;
  std::atomic<uint32_t>* const word = word_at(address);
  if (word == nullptr || how > 3) return kInvalidValue;
  return queue(stream, {[=] { return holds(word->load(), value, how); }, nullptr}, captured);
}

bool can_reach(int gpu, int other) { return gpu != other && !fault_is_set("peer"); }

int enable_peer(int gpu, int other) {
  if (const int code = usable(other); code != kSuccess) return code;
  if (!can_reach(gpu, other)) return kPeerUnsupported;
  World& world = World::get();
  const std::lock_guard lock(world.mutex);
  if (world.peers[gpu][other]) return kPeerAlready;
  world.peers[gpu][other] = true;
  return kSuccess;
}

}  // namespace fake
