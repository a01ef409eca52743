// SPDX-License-Identifier: Apache-2.0
/// Windows: memory of this process's ranks that other ranks write one-sidedly, and their signals.
///
/// Puts and signals from ranks of this process are function calls; those from other processes are messages to
/// the listener, whose thread carries them out at once, whether or not the target rank is in a call. The
/// listener answers when the delivery is done, so deliveries sent after an answer arrive later.
/// Tests: tests/core/window_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "src/base/bytes.h"
#include "src/base/doorbell.h"
#include "src/base/status.h"
#include "src/base/types.h"
#include "src/core/call/signal_key.h"

namespace weir::core {

/// A put, a signal, or a put and then a signal.
struct Delivery {
  uint32_t window = 0;  ///< number of the window at the target rank
  uint64_t offset = 0;  ///< offset into the window; bytes
  BytesView bytes;      ///< data to write; may be empty
  std::optional<SignalKey> signal;
};

/// Result of a delivery: success, an error, or in_progress if the rank has not registered the window yet.
using Delivered = Status;

/// The windows of one rank of one communicator, numbered in order of registration: as that order is the same
/// on all ranks, so are the numbers. Thread-safe.
class WindowSpace {
 public:
  /// Registers memory. `writable`: it is host memory and stays valid until remove(); others get a number, but
  /// refuse deliveries.
  uint32_t add(void* data, size_t bytes, bool writable);
  /// Deregisters a window; nothing writes to it after the return.
  void remove(uint32_t number);

  Delivered take(const Delivery& delivery);
  /// Subtracts `count` signals and returns true, if that many have arrived.
  bool consume(const SignalKey& key, uint64_t count);

  /// Accepts deliveries from now on, and rings `bell`, if not null, after each signal.
  void open(Doorbell* bell);
  /// Accepts no more deliveries; none is in flight after the return.
  void close();

 private:
  struct Window {
    std::byte* data;
    size_t bytes;
    bool writable;
    bool removed;
  };
  Delivered write(const Delivery& delivery) const;

  std::mutex mutex_;
  std::vector<Window> windows_;
  std::map<SignalKey, uint64_t> signals_;  ///< counts of signals that have arrived and were not consumed
  bool open_ = false;
  Doorbell* bell_ = nullptr;
};

/// The window spaces of a process. Thread-safe; outlives the listener that it answers for.
class WindowRegistry {
 public:
  /// Lets rank `rank` of communicator `uid` take deliveries during its lifetime.
  class Registration {
   public:
    Registration(WindowRegistry& windows, uint64_t uid, Rank rank, std::shared_ptr<WindowSpace> space,
                 Doorbell* bell);
    ~Registration();
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

   private:
    WindowRegistry& windows_;
    const uint64_t uid_;
    const Rank rank_;
    const std::shared_ptr<WindowSpace> space_;
  };

  /// Delivers to a rank of this process. in_progress if it is not registered (yet).
  Delivered deliver(uint64_t uid, Rank to, const Delivery& delivery);
  /// The windows of a rank of this process; null if it is not registered.
  std::shared_ptr<WindowSpace> find(uint64_t uid, Rank rank) const;

  /// Whether a message to the listener is one for answer().
  static bool is_meant(BytesView question);
  Bytes answer(uint64_t uid, BytesView question);
  static Bytes question(Rank to, const Delivery& delivery);
  /// Decodes the answer to question(); empty if the bytes are not one.
  static std::optional<Delivered> read_answer(BytesView answer);

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<uint64_t, Rank>, std::shared_ptr<WindowSpace>> spaces_;
};

}  // namespace weir::core
