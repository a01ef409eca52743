// SPDX-License-Identifier: Apache-2.0
/// Who is at the other end of this host's Ethernet cables, as lldpd has heard (IEEE 802.1AB).
#pragma once

#include <string>
#include <vector>

#include "weir/status.h"

namespace weir::drivers {

struct LldpNeighbor {
  std::string interface;     ///< of this host
  std::string chassis;       ///< identifies the other device, usually a MAC address
  std::string chassis_name;  ///< may be empty
  std::string port;          ///< identifies its port
  bool is_switch = false;    ///< it says that it forwards between its ports

  bool operator==(const LldpNeighbor&) const = default;
};

/// By lldpd's client library, which is loaded when called; `socket` is that of the daemon, empty for the
/// usual one. Errors: system_error where the library is missing, no daemon answers or it may not be asked.
Result<std::vector<LldpNeighbor>> lldp_neighbors(const std::string& socket);

/// As JSON, and back. Errors: invalid_argument with what is wrong.
std::string write_record(const std::vector<LldpNeighbor>& neighbors);
Result<std::vector<LldpNeighbor>> read_lldp_record(const std::string& text);

}  // namespace weir::drivers
