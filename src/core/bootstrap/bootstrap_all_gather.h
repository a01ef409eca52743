// SPDX-License-Identifier: Apache-2.0
/// What all ranks of a communicator say in one exchange, once for all ranks of a process.
///
/// Ranks of one process put what they say together. The lowest of them, their speaker, exchanges it with the
/// speakers of other processes (bruck.h), and all get the same object. So messages go between processes only,
/// and an exchange takes a process memory and work with the number of ranks, not with its square.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "src/base/bytes.h"
#include "src/base/types.h"
#include "src/core/diagnosis/watchdog.h"
#include "weir/status.h"

namespace weir::core {

/// Everybody's bytes. Thread-safe.
class Gathered {
 public:
  explicit Gathered(std::vector<Bytes> by_rank) : by_rank_(std::move(by_rank)) {}

  const std::vector<Bytes>& by_rank() const { return by_rank_; }

  /// What follows from it for all ranks alike. `make`, a function without arguments that returns a
  /// Result<std::shared_ptr<T>>, is called for the first who asks; whoever asks meanwhile waits. All get the
  /// same object, or the same error. REQUIRES: all ask for the same.
  template <typename T, typename Make>
  Result<std::shared_ptr<T>> derive(Make make) {
    const std::lock_guard lock(mutex_);
    if (derived_ == nullptr && status_.ok()) {
      Result<std::shared_ptr<T>> made = make();
      if (made.ok())
        derived_ = *made;
      else
        status_ = made.status();
    }
    WEIR_TRY(status_);
    return std::static_pointer_cast<T>(derived_);
  }

 private:
  const std::vector<Bytes> by_rank_;
  std::mutex mutex_;
  std::shared_ptr<void> derived_;
  Status status_;
};

/// The exchanges of a process that are under way, and what its ranks share. Thread-safe; one object per
/// process, which outlives all bootstraps.
class BootstrapAllGathers {
 public:
  /// Where the ranks of this process meet for one exchange.
  struct Meeting {
    std::mutex mutex;
    std::condition_variable came;  ///< for the speaker: somebody has spoken
    std::condition_variable done;  ///< for the others
    std::map<Rank, Bytes> said;
    size_t expected = SIZE_MAX;  ///< ranks of this process, once the speaker is there
    std::shared_ptr<Gathered> result;
  };
  /// That of exchange `number` of communicator `uid`. It lasts as long as somebody holds it.
  std::shared_ptr<Meeting> enter(uint64_t uid, uint32_t number);

  /// One copy for all ranks of `uid`, which all give the same.
  std::shared_ptr<const std::vector<PeerAddress>> share(uint64_t uid, std::vector<PeerAddress> peers);

 private:
  template <typename Key, typename T>
  using Known = std::map<Key, std::weak_ptr<T>>;

  std::mutex mutex_;
  Known<std::pair<uint64_t, uint32_t>, Meeting> meetings_;
  Known<uint64_t, const std::vector<PeerAddress>> peers_;
};

/// Which ranks of a communicator are in one process, as one of them sees it.
struct Company {
  Rank speaker = 0;            ///< of this process
  std::vector<Rank> here;      ///< ranks of this process, rising; of the speaker only
  std::vector<Rank> speakers;  ///< of all processes, rising; of the speaker only

  static Company of(const std::vector<PeerAddress>& peers, Rank self);
};

}  // namespace weir::core
