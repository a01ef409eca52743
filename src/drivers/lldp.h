// SPDX-License-Identifier: Apache-2.0
/// The neighbours at the other ends of this host's Ethernet cables, as lldpd has learned them (IEEE 802.1AB).
/// Tests: tests/drivers/lldp_test.cc
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"

namespace weir::drivers {

struct LldpNeighbor {
  std::string interface;     ///< network interface of this host
  std::string chassis;       ///< identifier of the neighbour, usually a MAC address
  std::string chassis_name;  ///< name of the neighbour; may be empty
  std::string port;          ///< identifier of the neighbour's port
  bool is_switch = false;    ///< true if the neighbour announces that it forwards packets between its ports

  bool operator==(const LldpNeighbor&) const = default;
};

/// Queries lldpd through its client library, which is loaded on each call. `socket` is the daemon's socket;
/// empty: the default one. Errors: system_error if the library is missing, no daemon answers or access is
/// denied.
Result<std::vector<LldpNeighbor>> lldp_neighbors(const std::string& socket);

/// Writes the neighbours as JSON, and reads them back. Errors: invalid_argument with the reason.
std::string write_record(const std::vector<LldpNeighbor>& neighbors);
Result<std::vector<LldpNeighbor>> read_lldp_record(const std::string& text);

}  // namespace weir::drivers
