// SPDX-License-Identifier: Apache-2.0
/// Memory in which the processes of a host keep what one of them has computed for all: tables of costs, and
/// proven plans.
///
/// The process of the host's lowest rank makes the memory and sends its handle with the PeerInfo exchange.
/// The others map it when they first need something. The first process that asks for a key makes the value;
/// those that ask meanwhile sleep until it is there. A process never depends on the others: it makes the
/// value itself if it cannot map the memory, if the maker has ended or takes too long, if there is no space
/// left, or if what it reads is not proven to come from a process with the secret of the job. Once all
/// processes have read a value, its memory is given back.
///
/// Thread-safe, except that one thread of a process at a time asks for the same key.
/// Tests: tests/core/host_board_test.cc
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/bytes.h"
#include "src/base/status.h"
#include "src/device/shared_memory.h"
#include "src/net/secret.h"

namespace weir::core {

class HostBoard {
 public:
  /// The communicator, the same in all processes of the host.
  struct Spec {
    uint64_t uid = 0;
    Secret secret;      ///< of the job
    int processes = 1;  ///< processes of this host that have ranks of the communicator
  };

  /// The memory of a new board, which the first process keeps for as long as others may ask. Errors: those of
  /// SharedMemory::create; system_error where the address space is limited, which a board would fill.
  static Result<device::SharedMemory> create(uint64_t uid);

  /// A board in the memory of `handle`; without one, or if it cannot be mapped, nothing is shared.
  HostBoard(const Spec& spec, const std::optional<device::ShareHandle>& handle)
      : spec_(spec), handle_(handle) {}

  /// The value of `key`: that of another process, or else that of `make`, for the others. `read` returns
  /// nullopt for bytes that are no value.
  template <typename T>
  Result<T> of(std::string_view key, const std::function<Result<T>()>& make, Bytes (*write)(const T&),
               std::optional<T> (*read)(BytesView)) {
    if (const std::optional<Bytes> bytes = find(key)) {
      if (std::optional<T> value = read(*bytes)) return std::move(*value);
    }
    Result<T> made = make();
    if (claims(key)) put(key, made.ok() ? write(*made) : Bytes());
    return made;
  }

 private:
  struct Slot;
  struct Head;

  std::optional<Bytes> find(std::string_view key);
  /// Whether this process has to make the value of `key` for the others.
  bool claims(std::string_view key);
  /// Without bytes: there is no value, and the others make their own.
  void put(std::string_view key, BytesView bytes);
  Head* head();
  Slot* slot_of(std::string_view key);
  static bool await(Slot& slot);
  std::optional<Bytes> copy(Slot& slot, std::string_view key);
  void give_back(uint64_t offset, uint64_t bytes);

  const Spec spec_;
  const std::optional<device::ShareHandle> handle_;
  std::mutex mutex_;  ///< guards the mapping
  bool tried_ = false;
  device::SharedMemory memory_;
};

}  // namespace weir::core
