// SPDX-License-Identifier: Apache-2.0
/// The RAS port of this process, open while it has communicators.
/// Tests: tests/api/ras_test.cc
#pragma once

#include <memory>

#include "src/survey/ras_server.h"

namespace weir::api {

/// The port: opened on first use and closed with its last holder. Null, which is not an error, if it is
/// switched off or cannot be opened. REQUIRES: lifecycle_mutex is held.
std::shared_ptr<survey::RasServer> ras_server();

/// Drops the inherited port in a forked child, which opens its own with its first communicator. REQUIRES:
/// lifecycle_mutex is held.
void forget_ras_server();

}  // namespace weir::api
