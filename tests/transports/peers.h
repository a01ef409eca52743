// SPDX-License-Identifier: Apache-2.0
/// Two ranks for a test, as threads of this process or as two forked processes, with a side channel between
/// them.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include "src/base/bytes.h"
#include "src/base/types.h"

namespace weir::testing {

enum class PeerKind { threads, processes };

/// Thrown by helpers of a peer's body when the test cannot go on; makes the test fail with its text.
struct CannotGoOn : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One of the two ranks, seen from its body.
class Peer {
 public:
  Peer(Rank rank, int socket) : rank_(rank), socket_(socket) {}

  Rank rank() const { return rank_; }
  Rank other() const { return 1 - rank_; }
  /// Gives bytes to the other rank and takes its bytes. Both must call.
  Bytes swap(const Bytes& mine);
  /// Both ranks have come here.
  void meet() { swap({}); }
  /// Ends the process by SIGKILL. Processes only.
  [[noreturn]] static void die();

 private:
  const Rank rank_;
  const int socket_;
};

/// What becomes of rank 1.
enum class Fate { lives, is_killed };

/// Runs the body as rank 0 and as rank 1. Failed expectations in any of them fail the calling test.
void run_pair(PeerKind kind, const std::function<void(Peer&)>& body, Fate fate = Fate::lives);

}  // namespace weir::testing
