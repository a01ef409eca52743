// SPDX-License-Identifier: Apache-2.0
/// A task that a waiting thread advances until it is done: a Run of a program, or a fast path.
///
/// Tasks never block. One thread may advance several tasks alternately, even those of ranks that depend on
/// each other.
/// Tests: tests/exec/run_test.cc
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/base/types.h"

namespace weir::exec {

enum class Progress : uint8_t {
  blocked,  ///< no progress was possible; a peer must act first
  moved,    ///< progress was made, and the task is not done
  done,
  failed,  ///< see Task::error()
};

class Task {
 public:
  virtual ~Task() = default;
  /// Makes as much progress as possible without blocking.
  virtual Progress advance() = 0;
  /// Lets the transports make progress while the task is blocked. Returns the error of a broken channel, and
  /// sets `peer` to the rank at its other end.
  virtual Status serve(Rank& peer) = 0;
  /// The operation ends early, and its buffers may go: takes back what peers may still read there.
  virtual void recall() {}
  /// The reason for which advance() failed.
  virtual Status error() const = 0;
  /// The rank whose action the task waits for. REQUIRES: the last advance() returned `blocked`.
  virtual Rank waiting_for() const = 0;
  /// All ranks whose actions the task waits for, each once. REQUIRES: as waiting_for().
  virtual std::vector<Rank> awaited() const { return {waiting_for()}; }
  /// The least number of doorbell rings, 1 or more, without which the task stays blocked. REQUIRES: as
  /// waiting_for().
  virtual int rings_needed() const { return 1; }
  /// The waiting step, for messages: "step 3 of 12 of lane 0"; empty if the task has no steps. REQUIRES: as
  /// waiting_for().
  virtual std::string place() const { return {}; }
};

}  // namespace weir::exec
