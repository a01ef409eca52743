// SPDX-License-Identifier: Apache-2.0
/// Asks other processes of a silent rank's host what their kernel says of it: an indirect probe, as in SWIM
/// (Das, Gupta, Motivala: SWIM, DSN 2002). So a process that only runs late is told from one that is stopped
/// or has ended, and from a host that is out of reach.
///
/// Not thread-safe. Nothing blocks.
/// Tests: tests/core/silence_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/base/process_id.h"
#include "src/core/call/peer_address.h"
#include "src/net/listener/inquiry.h"

namespace weir::core {

class IndirectProbe {
 public:
  /// The witnesses are ranks of the silent one's host, in other processes. `peers` outlives the object.
  IndirectProbe(const std::vector<PeerAddress>& peers, Rank silent);

  /// Asks the next witness, or takes an answer. One that has not answered for `grace_ns` is passed over.
  void advance(uint64_t uid, const Credentials& credentials, int64_t now, int64_t grace_ns);

  /// The latest answer, the rank that gave it, and when; unknown: none yet.
  ProcessState state() const { return state_; }
  Rank witness() const { return witness_; }
  int64_t answered_ns() const { return answered_ns_; }

 private:
  const std::vector<PeerAddress>& peers_;
  const Rank silent_;
  std::vector<Rank> witnesses_;
  size_t at_ = 0;  ///< index of the witness that is asked
  std::unique_ptr<Inquiry> inquiry_;
  int64_t asked_ns_ = 0;
  ProcessState state_ = ProcessState::unknown;
  Rank witness_ = -1;
  int64_t answered_ns_ = 0;
};

}  // namespace weir::core
