// SPDX-License-Identifier: Apache-2.0
/// The hosts of weir run --hosts.
/// Tests: tests/cli/remote_launch_test.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"

namespace weir::cli {

struct HostRanks {
  std::string name;  ///< as the remote shell takes it: a name or an address, with or without user@
  int ranks = 1;
};

/// Reads "a:4,user@b,[fe80::1]:2". Hosts without a number get equal shares of the `ranks` that are left, or
/// one rank each if `ranks` is 0. Errors: invalid_argument.
Result<std::vector<HostRanks>> read_hosts(std::string_view text, int ranks);

/// Where the ranks meet: the first host's address, IPv6 in brackets. Errors: invalid_argument if it is not
/// known here, or is this machine's own although others follow.
Result<std::string> meeting_address(const std::vector<HostRanks>& hosts);

}  // namespace weir::cli
