// SPDX-License-Identifier: Apache-2.0
/// What libhwloc knows of this machine: processors, NUMA nodes, PCI devices.
#pragma once

#include <string>

#include "weir/status.h"

namespace weir::drivers {

/// The machine as hwloc's own XML (version 2), everything that it can find but what needs a GPU vendor's
/// library. The library is loaded when called. system_error where it is missing, too old or fails; the
/// sentence says which. Thread-safe. Takes tens of milliseconds.
Result<std::string> hwloc_xml();

}  // namespace weir::drivers
