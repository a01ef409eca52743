// SPDX-License-Identifier: Apache-2.0
/// The InfiniBand subnet of this host's management port: all switches, adapters and cables.
/// Tests: tests/topology/ibsim_test.py
#pragma once

#include <string>

#include "src/base/status.h"

namespace weir::drivers {

/// The subnet as ibnetdiscover prints it, found by libibnetdisc with direct-routed packets (no subnet manager
/// is needed). Needs access to /dev/infiniband/umad*, which usually only root has. Errors: system_error if
/// the library or the access is missing. Takes milliseconds for dozens of nodes, seconds for thousands. The
/// library may print to standard error.
Result<std::string> subnet_text();

}  // namespace weir::drivers
