// SPDX-License-Identifier: Apache-2.0
/// The RDMA ports that a rank uses, with open devices and their events.
/// Tests: tests/transports/verbs_test.cc, tests/transports/verbs_ports_test.cc
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/drivers/verbs.h"
#include "transports/transport.h"
#include "transports/verbs/ports.h"

namespace weir::verbs {

struct Rail {
  UsedPort used;
  PortAddress address;
  drivers::VerbsDevice* device = nullptr;
  std::atomic<bool> down{false};  ///< the port is down now
  std::atomic<bool> lost{false};  ///< the device was removed
};

/// Thread-safe: several threads may use the ends of a rank's channels.
class Rails {
 public:
  /// Selects ports and opens their devices; logs the selected ports and the reasons. `nearest` names ports or
  /// devices near the rank's GPU; it is called if there are several ports. Fails if there is no usable port;
  /// the error gives the reason for each.
  static Result<std::unique_ptr<Rails>> open(drivers::Verbs& verbs, const Options& options,
                                             const NearestPorts& nearest);

  size_t size() const { return rails_.size(); }
  Rail& operator[](size_t index) { return *rails_[index]; }
  std::vector<PortAddress> addresses() const;
  /// Reads the events of all devices, unless that was done less than 10 ms ago. Logs each event with its
  /// device and port.
  void look();

 private:
  void note(const std::string& device, const drivers::VerbsEvent& event);

  std::map<std::string, std::unique_ptr<drivers::VerbsDevice>> devices_;
  std::vector<std::unique_ptr<Rail>> rails_;
  std::atomic<int64_t> looked_{0};  // time of the last look(); ns
};

}  // namespace weir::verbs
