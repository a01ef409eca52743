#include "src/core/ferry.h"

#include <algorithm>

namespace weir::core {

Status Ferry::reserve(Rank peer, bool sends) {
  std::unique_ptr<Lane>& lane = lanes_[place(peer, sends)];
  if (lane != nullptr) return {};
  auto memory = Pinned::allocate(parts_.gpu, kChunks * parts_.message_bytes);
  WEIR_TRY(memory.status());
  auto made = std::make_unique<Lane>();
  made->memory = std::move(*memory);
  std::lock_guard lock(mutex_);
  lane = std::move(made);
  return {};
}

size_t Ferry::bytes() const {
  std::lock_guard lock(mutex_);
  size_t all = 0;
  for (const auto& lane : lanes_) all += lane != nullptr ? lane->memory.bytes() : 0;
  return all;
}

bool Ferry::carries(const void* address) const {
  const device::GpuMemory kind = parts_.gpus->kind_of(address);
  return kind == device::GpuMemory::device || kind == device::GpuMemory::managed;
}

Ferry::Lane& Ferry::lane(Rank peer, bool sends) {
  std::lock_guard lock(mutex_);
  return *lanes_[place(peer, sends)];
}

const std::byte* Ferry::fetch(Rank peer, const std::byte* from, size_t left) {
  Lane& own = lane(peer, true);
  for (; own.ahead < kChunks && own.ahead * parts_.message_bytes < left; ++own.ahead) {
    const size_t at = own.ahead * parts_.message_bytes;
    const size_t number = own.next + own.ahead;
    if (!parts_.in->copy(chunk(own, number), from + at, std::min(parts_.message_bytes, left - at)).ok())
      return nullptr;
    own.marks[number % kChunks] = parts_.in->mark();
  }
  return parts_.in->reached(own.marks[own.next % kChunks]) ? chunk(own, own.next) : nullptr;
}

void Ferry::sent(Rank peer) {
  Lane& own = lane(peer, true);
  ++own.next;
  --own.ahead;
}

std::byte* Ferry::room(Rank peer) {
  Lane& own = lane(peer, false);
  return parts_.out->reached(own.marks[own.next % kChunks]) ? chunk(own, own.next) : nullptr;
}

void Ferry::deliver(Rank peer, std::byte* to, size_t bytes) {
  Lane& own = lane(peer, false);
  if (!parts_.out->copy(to, chunk(own, own.next), bytes).ok()) return;
  own.marks[own.next % kChunks] = parts_.out->mark();
  ++own.next;
}

}  // namespace weir::core
