// SPDX-License-Identifier: Apache-2.0
/// A bootstrap all-gather whose result is held once per process.
///
/// The ranks of one process combine their contributions. The lowest of them, their speaker, exchanges these
/// with the speakers of other processes (bruck.h), and all ranks get the same object. Thus only processes
/// send messages, and memory and work of a process grow with the number of ranks, not with its square.
/// Tests: tests/core/bootstrap_all_gather_test.cc
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
#include "src/base/status.h"
#include "src/base/types.h"
#include "src/core/diagnosis/watchdog.h"

namespace weir::core {

/// The result: the bytes of all ranks. Thread-safe.
class GatherResult {
 public:
  explicit GatherResult(std::vector<Bytes> by_rank) : by_rank_(std::move(by_rank)) {}

  const std::vector<Bytes>& by_rank() const { return by_rank_; }

  /// A value that is computed from the bytes once for all ranks of the process. `make`, a function without
  /// arguments that returns a Result<std::shared_ptr<T>>, runs for the first caller; later callers wait for
  /// it. All get the same object, or the same error. REQUIRES: all callers pass an equivalent `make`.
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

/// The exchanges in flight of a process, and the peer addresses that its ranks share. Thread-safe; one object
/// per process, which outlives all bootstraps.
class BootstrapAllGathers {
 public:
  /// Where the ranks of this process meet for one exchange.
  struct Meeting {
    std::mutex mutex;
    std::condition_variable came;  ///< wakes the speaker: a rank has contributed
    std::condition_variable done;  ///< wakes the other ranks: the result is there
    std::map<Rank, Bytes> said;
    size_t expected = SIZE_MAX;  ///< number of ranks of this process; set by the speaker
    std::shared_ptr<GatherResult> result;
  };
  /// The meeting for exchange `number` of communicator `uid`; lives as long as a rank holds it.
  std::shared_ptr<Meeting> enter(uint64_t uid, uint32_t number);

  /// One copy of the addresses for all ranks of `uid`, which all pass the same.
  std::shared_ptr<const std::vector<PeerAddress>> share(uint64_t uid, std::vector<PeerAddress> peers);

 private:
  template <typename Key, typename T>
  using Known = std::map<Key, std::weak_ptr<T>>;

  std::mutex mutex_;
  Known<std::pair<uint64_t, uint32_t>, Meeting> meetings_;
  Known<uint64_t, const std::vector<PeerAddress>> peers_;
};

/// Which ranks of a communicator share a process, from the view of one rank.
struct RanksByProcess {
  Rank speaker = 0;            ///< lowest rank of this process
  std::vector<Rank> here;      ///< ranks of this process, ascending; filled for the speaker only
  std::vector<Rank> speakers;  ///< speakers of all processes, ascending; filled for the speaker only

  static RanksByProcess of(const std::vector<PeerAddress>& peers, Rank self);
};

}  // namespace weir::core
