// SPDX-License-Identifier: Apache-2.0
/// What a suspended communicator keeps: how its ranks reach each other.
/// Tests: tests/api/suspend_test.cc
#pragma once

#include <cstdint>
#include <memory>

#include "src/core/bootstrap/bootstrap.h"

namespace weir::core {

struct SuspendedState {
  std::shared_ptr<Listener> listener;
  std::unique_ptr<Bootstrap> bootstrap;
  uint64_t bytes = 0;  ///< of memory that was given back
};

}  // namespace weir::core
