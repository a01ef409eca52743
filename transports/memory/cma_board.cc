// SPDX-License-Identifier: Apache-2.0

#include "transports/memory/cma_board.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <new>
#include <system_error>

#include "src/base/shortage.h"

namespace weir::cma {
namespace {

constexpr uint64_t kBoardMagic = 0x6472616f62616d63;  // "cmaboard"
constexpr size_t kEntries = size_t{1} << 15;
constexpr size_t kControls = kEntries;
constexpr size_t kEntriesOffset = 64;
constexpr size_t kControlsOffset = kEntriesOffset + kEntries * sizeof(BoardEntry);
constexpr size_t kBoardBytes = kControlsOffset + kControls * sizeof(Control);
constexpr size_t kLook = 8;  // number of entries that a peer reads at once

uint64_t pack(const EndKey& key) {
  return static_cast<uint64_t>(key.sends) << 63 | (static_cast<uint64_t>(key.peer) + 1) << 32 | key.channel;
}

size_t first_entry(uint64_t key) { return static_cast<size_t>((key * 0x9E3779B97F4A7C15u) >> 40) % kEntries; }

uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

/// Finds the entry of `key`, or the free one for it; null if the table is full.
BoardEntry* entry_of(BoardEntry* entries, uint64_t key) {
  for (size_t look = 0, at = first_entry(key); look < kEntries; ++look, at = (at + 1) % kEntries) {
    const uint64_t found = entries[at].key.load(std::memory_order_relaxed);
    if (found == key || found == 0) return &entries[at];
  }
  return nullptr;
}

}  // namespace

Result<std::unique_ptr<Board>> Board::create() {
  uint64_t token = 0;
  if (getrandom(&token, sizeof token, 0) != sizeof token) token = mix(static_cast<uint64_t>(getpid()));
  void* memory =
      mmap(nullptr, kBoardBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return system_failure(fmt::format("cannot allocate {} bytes for the list of channels", kBoardBytes),
                          errno);
  }
  new (memory) BoardHeader{kBoardMagic, token};
  return std::unique_ptr<Board>(new Board(static_cast<std::byte*>(memory), token));
}

Board::~Board() { munmap(memory_, kBoardBytes); }

BoardEntry* Board::entries() const { return reinterpret_cast<BoardEntry*>(memory_ + kEntriesOffset); }

Control* Board::controls() const { return reinterpret_cast<Control*>(memory_ + kControlsOffset); }

BoardAddress Board::address() const {
  return {.pid = getpid(),
          .reserved = 0,
          .pid_namespace = pid_namespace(),
          .token = token_,
          .begin = reinterpret_cast<RemoteAddress>(memory_)};
}

Result<Control*> Board::open(const EndKey& key, const SlotLayout& shape) {
  BoardEntry* entry = entry_of(entries(), pack(key));
  if (entry == nullptr || (free_.empty() && controls_used_ == kControls)) {
    return Status(
        Code::system_error,
        fmt::format("too many channel ends of transport cma; expected at most {} per rank", kControls));
  }
  if (entry->control.load(std::memory_order_relaxed) != 0) {
    return Status(
        Code::invalid_usage,
        fmt::format(
            "channel {} {} rank {} is already open; its end on this rank must be closed before it is opened "
            "again",
            key.channel, key.sends ? "to" : "from", key.peer));
  }
  Control* control = nullptr;
  if (free_.empty()) {
    control = controls() + controls_used_++;
  } else {
    control = free_.back();
    free_.pop_back();
  }
  new (control) Control{};
  control->slots = shape.slots;
  control->slot_bytes = shape.slot_bytes;
  control->memory = shape.memory;
  control->token.store(mix(token_ + ++serial_) | 1, std::memory_order_release);
  entry->control.store(reinterpret_cast<uint64_t>(control), std::memory_order_release);
  entry->key.store(pack(key), std::memory_order_release);
  return control;
}

void Board::close(const EndKey& key, Control* control) {
  control->token.store(0, std::memory_order_seq_cst);
  entry_of(entries(), pack(key))->control.store(0, std::memory_order_release);
  free_.push_back(control);
}

int PeerBoard::check() const {
  BoardHeader header{};
  const int error = memory_.read({{&header, address_.begin, sizeof header}});
  if (error != 0) return error;
  return header.magic == kBoardMagic && header.token == address_.token ? 0 : EFAULT;
}

std::optional<RemoteAddress> PeerBoard::find(const EndKey& key) const {
  struct Copy {
    uint64_t key;
    uint64_t control;
  };
  static_assert(sizeof(Copy) == sizeof(BoardEntry));
  const uint64_t wanted = pack(key);
  for (size_t at = first_entry(wanted), looked = 0; looked < kEntries; looked += kLook) {
    std::array<Copy, kLook> window{};
    const size_t count = std::min(kLook, kEntries - at);
    const RemoteAddress from = address_.begin + kEntriesOffset + at * sizeof(BoardEntry);
    if (memory_.read({{window.data(), from, count * sizeof(Copy)}}) != 0) return std::nullopt;
    for (size_t i = 0; i < count; ++i) {
      if (window[i].key == 0) return std::nullopt;
      if (window[i].key == wanted)
        return window[i].control == 0 ? std::nullopt : std::optional(window[i].control);
    }
    at = (at + count) % kEntries;
  }
  return std::nullopt;
}

}  // namespace weir::cma
