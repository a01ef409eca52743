// SPDX-License-Identifier: Apache-2.0
/// Hosts whose links can be cut: network namespaces on one bridge.
#pragma once

#include <memory>
#include <string>

#include "src/base/status.h"

namespace weir::testing {

class Lab {
 public:
  static constexpr int kHosts = 4;

  /// Needs root and iproute2; says what is missing. Removed again by the destructor.
  static Result<std::unique_ptr<Lab>> build();
  ~Lab();
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  /// Moves the calling process to a host.
  Status enter(int host) const;
  static std::string address(int host) { return "10.78.0." + std::to_string(host + 1); }
  /// Pulls the cable of a host, or plugs it in again.
  void plug(int host, bool in) const;

 private:
  Lab() = default;
};

}  // namespace weir::testing
