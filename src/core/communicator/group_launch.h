// SPDX-License-Identifier: Apache-2.0
/// How operations of a call or a group go through the back ends of their communicators.
/// Tests: tests/api/group_test.cc
#pragma once

#include <span>

#include "src/core/call/operation.h"
#include "src/core/call/streams.h"

namespace weir::core {

class Communicator;

/// Where an operation of a group goes.
struct Target {
  Communicator* communicator = nullptr;
  StreamPlace place;

  bool operator==(const Target&) const = default;
};

/// Carries out what one thread issued in one call on one communicator, as Communicator::run says.
Status launch(Communicator& communicator, std::span<const Operation> operations, const StreamPlace& place);

/// Carries out what one thread issued in one group, targets[i] telling where operations[i] goes: one or
/// several communicators of this process. Their ranks may depend on each other, so they advance together.
/// Streams as in Communicator::run. REQUIRES: at least one operation.
Status launch_group(std::span<const Target> targets, std::span<const Operation> operations);

}  // namespace weir::core
