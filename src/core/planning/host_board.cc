// SPDX-License-Identifier: Apache-2.0

#include "src/core/planning/host_board.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>

#include "src/base/clock.h"
#include "src/base/host.h"
#include "src/base/log.h"
#include "src/base/process_id.h"

namespace weir::core {
namespace {

constexpr uint64_t kBoardMagic = 0x6472616f'62746f68;
constexpr uint32_t kBoardVersion = 1;
constexpr size_t kBoardBytes = size_t{512} << 20;  ///< address space; only pages in use take memory
constexpr size_t kBoardPage = 4096;
constexpr size_t kBoardSlots = 64;
constexpr int64_t kLookNs = 250 * kNsPerMs;     ///< time between two looks whether the maker still runs
constexpr int64_t kMostNs = 20'000 * kNsPerMs;  ///< longer than any value takes on a busy host

enum BoardState : uint32_t { kEmpty, kClaimed, kMaking, kReady, kNone };

void sleep_on(std::atomic<uint32_t>& word, uint32_t value, int64_t ns) {
  const timespec time{ns / 1'000'000'000, ns % 1'000'000'000};
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT, value, &time, nullptr, 0);
}

void wake_all(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool address_space_is_limited() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/// What the proof of a value is about.
Bytes statement(uint64_t uid, std::string_view key, BytesView bytes) {
  return ByteWriter().put_string("weir: value on a board").put(uid).put_string(key).put_bytes(bytes).take();
}

}  // namespace

/// One value. Whoever changes `state` from kEmpty makes the value, and writes the other fields.
struct HostBoard::Slot {
  std::atomic<uint64_t> hash;  ///< of the key; 0: free
  std::atomic<uint32_t> state;
  std::atomic<int32_t> readers;  ///< processes that have read it
  ProcessId maker;
  uint64_t offset;  ///< of the proof, which the bytes follow
  uint64_t bytes;
};

struct HostBoard::Head {
  uint64_t magic;
  uint32_t version;
  uint64_t uid;
  std::atomic<uint64_t> used;  ///< bytes given out, from the begin of the memory
  Slot slots[kBoardSlots];
};

Result<device::SharedMemory> HostBoard::create(uint64_t uid) {
  if (address_space_is_limited())
    return Status(Code::system_error, "the address space is limited (ulimit -v)");
  auto memory = device::SharedMemory::create(kBoardBytes);
  WEIR_TRY(memory.status());
  auto* const head = new (memory->data()) Head{};
  head->version = kBoardVersion;
  head->uid = uid;
  head->used = (sizeof(Head) + kBoardPage - 1) / kBoardPage * kBoardPage;
  head->magic = kBoardMagic;
  return memory;
}

/// Maps the board at the first call; null if there is none.
HostBoard::Head* HostBoard::head() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(tried_, true) && handle_ && !address_space_is_limited()) {
    auto memory = device::SharedMemory::attach(*handle_);
    if (!memory.ok()) {
      WEIR_INFO(tuning, "this process makes its own tables and plans: {}", memory.status().message());
      return nullptr;
    }
    const auto* const found = reinterpret_cast<const Head*>(memory->data());
    const bool right = memory->size() == kBoardBytes && found->magic == kBoardMagic &&
                       found->version == kBoardVersion && found->uid == spec_.uid;
    if (right) memory_ = std::move(*memory);
  }
  return reinterpret_cast<Head*>(memory_.data());
}

/// The slot of the key, or a free one that is its from now on; null if all are taken.
HostBoard::Slot* HostBoard::slot_of(std::string_view key) {
  Head* const board = head();
  if (board == nullptr) return nullptr;
  const uint64_t hash = std::max<uint64_t>(hash_text(key), 1);
  for (size_t i = 0; i < kBoardSlots; ++i) {
    Slot& slot = board->slots[(hash + i) % kBoardSlots];
    uint64_t known = 0;
    if (slot.hash.compare_exchange_strong(known, hash) || known == hash) return &slot;
  }
  return nullptr;
}

std::optional<Bytes> HostBoard::find(std::string_view key) {
  Slot* const slot = slot_of(key);
  if (slot == nullptr) return std::nullopt;
  uint32_t state = kEmpty;
  if (slot->state.compare_exchange_strong(state, kClaimed)) {
    slot->maker = own_process_id();
    slot->state.store(kMaking, std::memory_order_release);
    return std::nullopt;
  }
  return await(*slot) ? copy(*slot, key) : std::nullopt;
}

bool HostBoard::claims(std::string_view key) {
  Slot* const slot = slot_of(key);
  return slot != nullptr && slot->state.load(std::memory_order_acquire) == kMaking &&
         slot->maker == own_process_id();
}

/// Waits for the value of a slot that another process makes.
bool HostBoard::await(Slot& slot) {
  const int64_t until = now_ns() + kMostNs;
  for (;;) {
    const uint32_t state = slot.state.load(std::memory_order_acquire);
    if (state == kReady) return true;
    if ((state != kClaimed && state != kMaking) || now_ns() > until) return false;
    if (state == kMaking) {
      const ProcessId maker = slot.maker;
      // The maker may have put the value there and ended since the state was read.
      if (maker == own_process_id() || state_of(maker) != ProcessState::runs)
        return slot.state.load(std::memory_order_acquire) == kReady;
    }
    sleep_on(slot.state, state, kLookNs);
  }
}

/// The value, copied before anything in it is looked at: others can write there at any time.
std::optional<Bytes> HostBoard::copy(Slot& slot, std::string_view key) {
  const uint64_t offset = slot.offset, size = slot.bytes;
  if (offset > memory_.size() || size > memory_.size() - offset ||
      memory_.size() - offset - size < sizeof(Proof))
    return std::nullopt;
  Proof proof;
  std::memcpy(proof.data(), memory_.data() + offset, sizeof(proof));
  const std::byte* const begin = memory_.data() + offset + sizeof(proof);
  Bytes bytes(begin, begin + size);
  const bool proven = spec_.secret.accepts(statement(spec_.uid, key, bytes), proof);
  const bool there = slot.state.load() == kReady;
  // The one that has made it does not read it.
  if (slot.readers.fetch_add(1) + 2 == spec_.processes) {
    slot.state.store(kNone);
    give_back(offset, sizeof(proof) + size);
  }
  if (proven) return bytes;
  if (there)
    WEIR_WARN(
        "another process has written to the board of communicator {:#x}: its value of \"{}\" is not used",
        spec_.uid, key);
  return std::nullopt;
}

void HostBoard::put(std::string_view key, BytesView bytes) {
  Slot* const slot = slot_of(key);
  if (slot == nullptr) return;
  const size_t need = (sizeof(Proof) + bytes.size() + kBoardPage - 1) / kBoardPage * kBoardPage;
  const uint64_t offset = bytes.empty() ? kBoardBytes : head()->used.fetch_add(need);
  const bool fits = offset <= kBoardBytes && need <= kBoardBytes - offset;
  if (fits) {
    const Proof proof = spec_.secret.prove(statement(spec_.uid, key, bytes));
    std::memcpy(memory_.data() + offset, proof.data(), sizeof(proof));
    std::memcpy(memory_.data() + offset + sizeof(proof), bytes.data(), bytes.size());
    slot->offset = offset;
    slot->bytes = bytes.size();
  }
  slot->state.store(fits ? kReady : kNone, std::memory_order_release);
  wake_all(slot->state);
}

void HostBoard::give_back(uint64_t offset, uint64_t bytes) {
  const uint64_t size = (bytes + kBoardPage - 1) / kBoardPage * kBoardPage;
  if (offset % kBoardPage == 0) madvise(memory_.data() + offset, size, MADV_REMOVE);
}

}  // namespace weir::core
