// SPDX-License-Identifier: Apache-2.0
/// The RAS port of this process, which is open while it has communicators.
#pragma once

#include <memory>

#include "src/survey/ras_server.h"

namespace weir::api {

/// Opened on first use and closed when the last holder lets go. Null: it is switched off, or cannot be
/// opened, which is no error. REQUIRES: lifecycle_mutex is held.
std::shared_ptr<survey::RasServer> ras_server();

/// For a forked child, which has one of its own with its first communicator. REQUIRES: lifecycle_mutex is
/// held.
void forget_ras_server();

}  // namespace weir::api
