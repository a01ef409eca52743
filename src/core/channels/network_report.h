// SPDX-License-Identifier: Apache-2.0
/// Lets an Activity tell the state of the connections of a communicator's transports, for the report of a
/// stall: data that are not acknowledged, and packets that were lost at this host's interfaces.
///
/// The object stands for this from its creation to its end. The activity calls it on any thread.
/// Tests: tests/core/network_report_test.cc
#pragma once

#include <memory>
#include <vector>

#include "src/core/diagnosis/activity_registry.h"
#include "transports/transport.h"

namespace weir::core {

class NetworkReport {
 public:
  /// All arguments outlive the object.
  NetworkReport(Activity& activity, const std::vector<std::unique_ptr<Transport>>& transports);
  ~NetworkReport();
  NetworkReport(const NetworkReport&) = delete;
  NetworkReport& operator=(const NetworkReport&) = delete;

 private:
  Activity& activity_;
};

}  // namespace weir::core
