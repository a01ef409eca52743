// SPDX-License-Identifier: Apache-2.0
/// Two processes that talk before they belong to one job: a communicator of two ranks that meet at an
/// address, with the secret of the job, as docs/security.md describes. Nothing here waits without a limit.
/// Tests: tests/trainer/newcomer_listener_test.cc
#pragma once

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "src/base/status.h"

namespace weir::trainer {

/// Asked again and again while something is waited for; true: it is waited for no longer.
using GivesUp = std::function<bool()>;

/// Movable; used by one thread at a time.
class PeerLink {
 public:
  /// Rank 0 listens at `address`, rank 1 connects to it; both wait for each other. Errors: those of the
  /// library; in_progress if it was given up.
  static Result<PeerLink> open(const std::string& address, int rank, const GivesUp& gives_up);
  PeerLink(PeerLink&& other) noexcept
      : comm_(std::exchange(other.comm_, nullptr)), rank_(other.rank_), failed_(other.failed_) {}
  PeerLink& operator=(PeerLink&& other) noexcept {
    std::swap(comm_, other.comm_);
    std::swap(rank_, other.rank_);
    std::swap(failed_, other.failed_);
    return *this;
  }
  ~PeerLink();

  /// `bytes` from or to the other process. After an error the link is of no use.
  Status send(const void* data, size_t bytes, const GivesUp& gives_up);
  Status receive(void* data, size_t bytes, const GivesUp& gives_up);
  /// Receive without a limit on how long the other process may do something else, as long as it runs.
  Status wait_long();

 private:
  explicit PeerLink(int rank) : rank_(rank) {}
  Status settled(ncclResult_t result, const char* what, const GivesUp& gives_up);

  ncclComm_t comm_ = nullptr;
  int rank_;
  bool failed_ = true;
};

/// What the listener says to the options of a newcomer.
struct Verdict {
  int32_t accepted = 0;
  char text[4092] = {};  ///< accepted: addresses of other listeners, separated by commas; else why not
};

/// What an accepted newcomer is told later.
struct Call {
  enum Kind : int32_t {
    check,  ///< it answers with one int32_t, whether it is there
    join,   ///< the job grows by the id, in which it has the rank
    end,    ///< the run is done
  };
  int32_t kind = check;
  int32_t rank = 0;
  int32_t ranks = 0;
  int32_t target = 0;  ///< World::target()
  ncclUniqueId id = {};
};

}  // namespace weir::trainer
