// SPDX-License-Identifier: Apache-2.0
/// How long the calls of a communicator have to take at least. An interface: only jobs that pretend to run on
/// another cluster have one (src/core/pretended).
///
/// Calls of a communicator are carried out one after the other; begin() and end() are called by the thread
/// that carries one out.
/// Tests: tests/core/pretended_pace_test.cc
#pragma once

#include <atomic>
#include <span>

#include "src/core/call/operation.h"

namespace weir::core {

class CallPace {
 public:
  virtual ~CallPace() = default;
  /// The operations of one call or group begin now. May compute for a while before that.
  virtual void begin(std::span<const Operation> operations) = 0;
  /// They are done. Returns when they may end, or soon after `aborted` is set.
  virtual void end(const std::atomic<bool>& aborted) = 0;
};

}  // namespace weir::core
