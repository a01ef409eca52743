// SPDX-License-Identifier: Apache-2.0
/// How a rank of a new communicator meets the other ranks, by what the communicator is made of. Each function
/// is collective, and ends with the bootstrap over which the communicator is built.
/// Tests: tests/api/grow_test.cc, tests/core/shrink_test.cc
#pragma once

#include <atomic>
#include <memory>

#include "src/core/bootstrap/bootstrap.h"
#include "src/core/communicator/origin.h"
#include "src/core/communicator/runtime.h"

namespace weir::core {

struct JoinResult {
  std::shared_ptr<Listener> listener;    ///< of this process
  std::unique_ptr<Bootstrap> bootstrap;  ///< null: this rank belongs to no part of the split
};

/// Errors: those of Bootstrap, which name the rank that is missing, dead or different; invalid_usage where
/// the parent cannot have children. `abort` makes it return soon once it is set.
Result<JoinResult> join(Runtime& runtime, const IdOrigin& from, const std::atomic<bool>& abort);
Result<JoinResult> join(Runtime& runtime, const SplitOrigin& from, const std::atomic<bool>& abort);
Result<JoinResult> join(Runtime& runtime, const ShrinkOrigin& from, const std::atomic<bool>& abort);
Result<JoinResult> join(Runtime& runtime, const GrowOrigin& from, const std::atomic<bool>& abort);

/// Tells the other ranks of a communicator with an id that this rank cannot join, before it has tried to:
/// they need not wait for it. Takes a second at most.
void decline(Runtime& runtime, const IdOrigin& from, const Status& why);

/// Among which the ranks of a child find each other: the parent's own bootstrap, or, where the parent was
/// revoked and answers nobody any more, a fresh one. What is under way on the parent is done first: it is
/// watched by the same watchdog.
class ParentBootstrap {
 public:
  static Result<ParentBootstrap> of(const Communicator& parent, const std::atomic<bool>& abort);
  Bootstrap& operator*() const { return *used_; }

 private:
  std::unique_ptr<Bootstrap> fresh_;
  Bootstrap* used_ = nullptr;
};

}  // namespace weir::core
