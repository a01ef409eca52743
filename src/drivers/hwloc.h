// SPDX-License-Identifier: Apache-2.0
/// The topology of this machine as libhwloc detects it: processors, NUMA nodes, PCI devices.
/// Tests: tests/drivers/machine_test.cc, tests/drivers/hwloc_test.cc
#pragma once

#include <string>

#include "src/base/status.h"

namespace weir::drivers {

/// The machine as hwloc's XML (version 2), with everything that hwloc can detect without a GPU vendor's
/// library. Loads libhwloc on each call. system_error if it is missing, too old or fails; the message says
/// which. Thread-safe. Takes tens of milliseconds.
Result<std::string> hwloc_xml();

}  // namespace weir::drivers
