// SPDX-License-Identifier: Apache-2.0
/// Windows: memory of this process's ranks that other ranks write without being asked, and the signals that
/// tell of it.
///
/// Puts and signals of ranks of this process come as calls, those of others as questions at the listener,
/// which its thread carries out at once: a rank need not be in a call to be written to. A question is
/// answered when what it asks for is done, so what follows an answer comes later.
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
#include "src/base/types.h"
#include "weir/status.h"

namespace weir::core {

/// Which signals of a rank count together.
struct SignalKey {
  Rank from = 0;
  int32_t index = 0;
  int32_t context = 0;

  auto operator<=>(const SignalKey&) const = default;
};

/// A put, a signal, or a put and then a signal.
struct Delivery {
  uint32_t window = 0;  ///< its number at the rank that is written to
  uint64_t offset = 0;  ///< bytes
  BytesView bytes;      ///< may be none
  std::optional<SignalKey> signal;
};

/// What came of a delivery: success, an error, or in_progress while the rank has not made the window yet.
using Delivered = Status;

/// The windows of one rank of one communicator, numbered in the order in which they were made: as that is
/// the same on all ranks, so are the numbers. Thread-safe.
class WindowSpace {
 public:
  /// `writable`: host memory, which outlives remove(). Others are numbered, and refuse.
  uint32_t add(void* data, size_t bytes, bool writable);
  /// Nobody writes there from now on.
  void remove(uint32_t number);

  Delivered take(const Delivery& delivery);
  /// Takes `count` signals off, if so many have come.
  bool consume(const SignalKey& key, uint64_t count);

  /// From now on deliveries are taken, and the bell rung after each signal; null: nothing is.
  void open(Doorbell* bell);
  /// None is taken any more, nor under way.
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
  std::map<SignalKey, uint64_t> signals_;  ///< that have come and were not consumed
  bool open_ = false;
  Doorbell* bell_ = nullptr;
};

/// The window spaces of a process. Thread-safe; outlives the listener that it answers for.
class WindowRegistry {
 public:
  /// Rank `rank` of communicator `uid` takes deliveries while this lives.
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

  /// Of a rank of this process. in_progress where it is not registered (yet).
  Delivered deliver(uint64_t uid, Rank to, const Delivery& delivery);
  /// Null: it is not registered.
  std::shared_ptr<WindowSpace> find(uint64_t uid, Rank rank) const;

  /// Whether a question at the listener is for answer().
  static bool is_meant(BytesView question);
  Bytes answer(uint64_t uid, BytesView question);
  static Bytes question(Rank to, const Delivery& delivery);
  /// Nothing, if the bytes are no answer to question().
  static std::optional<Delivered> read_answer(BytesView answer);

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<uint64_t, Rank>, std::shared_ptr<WindowSpace>> spaces_;
};

}  // namespace weir::core
