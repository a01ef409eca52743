// SPDX-License-Identifier: Apache-2.0
/// The simulated time of collectives of several groups of devices that run at the same time.
///
///     const auto topology = weir::read_topology({"fabric.txt"});
///     // Devices 0 to 7 and 8 to 15 gather 1 GB each:
///     const auto seconds = weir::simulate_rings(*topology, weir::Collective::all_gather, 1e9, devices, 8);
///
/// The simulator is that of `weir sim` (docs/planning.md). Each group runs a ring per device of its hosts,
/// and as many in the other direction: a ring passes the devices of a host one after the other, and crosses
/// to the next host between devices at the same place of their hosts. A communicator takes what is fastest,
/// which may be faster than rings. Links of all groups are shared fairly, and latencies count. Messages,
/// queues and losses are not simulated.
///
/// Every function may be called from any thread; several threads may use one const Topology at once. No
/// function throws anything but std::bad_alloc, and none prints. C++20.
/// Tests: tests/api/planner_api_test.cc
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "weir/collective.h"
#include "weir/expected.h"
#include "weir/topology.h"

extern "C" {
/* `devices` are places in Topology::devices(), `group` of them per group; none: all devices are one group.
   `latencies`: NULL for those that are assumed. Returns seconds; on failure a negative number, and calls
   `error` with the sentence. */
double weirRingsSimulate(const weirTopology* topology, weir::Collective collective, double bytes,
                         const int* devices, size_t count, size_t group, const char* latencies,
                         weirTextSink error, void* keeper);
}

namespace weir {

/// Seconds until the slowest group has ended an all-reduce, all-gather or reduce-scatter of `bytes` (M of
/// weir/collective.h). `devices` are places in Topology::devices(): the ranks of the first group in their
/// order, then those of the next one, `group` each. `latencies` is what `weir sim --latency` takes, such as
/// "network=2,message=0.5" in microseconds; what it does not name is assumed. Takes about 5 ms for 512
/// devices. Fails for other collectives, for a number of devices that is no multiple of `group`, for bytes
/// that are negative or not finite, and where lower_bound() fails.
inline Expected<double> simulate_rings(const Topology& topology, Collective collective, double bytes,
                                       std::span<const int> devices, size_t group,
                                       const std::string& latencies = "") {
  std::string error;
  const double seconds = weirRingsSimulate(topology.data(), collective, bytes, devices.data(), devices.size(),
                                           group, latencies.c_str(), detail::keep_text, &error);
  return seconds >= 0 ? Expected<double>(seconds) : Expected<double>::failed(std::move(error));
}

}  // namespace weir
