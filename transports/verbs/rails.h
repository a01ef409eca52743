// SPDX-License-Identifier: Apache-2.0
/// The RDMA ports that a rank uses, their devices opened, and what befalls them.
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
  std::atomic<bool> down{false};  ///< the port is down at the moment
  std::atomic<bool> lost{false};  ///< the device is gone for good
};

/// Thread-safe: the ends of a rank's channels may be used by several threads.
class Rails {
 public:
  /// Chooses ports and opens their devices; the log says which and why. `nearest` names ports or devices near
  /// the rank's GPU; it is asked where there are several ports. Error: there is no port to use; the
  /// sentence says why for each.
  static Result<std::unique_ptr<Rails>> open(drivers::Verbs& verbs, const Options& options,
                                             const NearestPorts& nearest);

  size_t size() const { return rails_.size(); }
  Rail& operator[](size_t index) { return *rails_[index]; }
  std::vector<PortAddress> addresses() const;
  /// Reads the events of all devices, unless that was done less than 10 ms ago. Each goes to the log with
  /// device and port.
  void look();

 private:
  void note(const std::string& device, const drivers::VerbsEvent& event);

  std::map<std::string, std::unique_ptr<drivers::VerbsDevice>> devices_;
  std::vector<std::unique_ptr<Rail>> rails_;
  std::atomic<int64_t> looked_{0};  // when, in ns
};

}  // namespace weir::verbs
