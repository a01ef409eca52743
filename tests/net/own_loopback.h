// SPDX-License-Identifier: Apache-2.0
/// Addresses that no other test uses at the same time.
#pragma once

#include <unistd.h>

#include <atomic>
#include <string>

namespace weir::testing {

/// "127.x.y.z:port" of this process alone, another one in each call; the port is none that the system gives
/// to others. Thread-safe.
inline std::string own_loopback_address() {
  static std::atomic<int> calls = 0;
  const auto pid = static_cast<unsigned>(getpid());
  const auto part = [](unsigned number) { return std::to_string(number) + '.'; };
  return "127." + part(64 + (pid >> 16 & 63)) + part(pid >> 8 & 255) + std::to_string(pid & 255) + ':' +
         std::to_string(20000 + calls++);
}

}  // namespace weir::testing
