// SPDX-License-Identifier: Apache-2.0
/// The address families of this machine's loopback interface: containers often lack IPv6.
#pragma once

#include <vector>

#include "src/net/socket.h"

namespace weir::testing {

inline std::vector<int> families() {
  std::vector<int> found = {AF_INET};
  if (Socket::listen(SocketAddress::loopback(AF_INET6, 0)).ok()) found.push_back(AF_INET6);
  return found;
}

}  // namespace weir::testing
