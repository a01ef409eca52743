// SPDX-License-Identifier: Apache-2.0
/// What the kernel allows a process of this host, as far as communication needs it.
#pragma once

#include <cstdint>
#include <string>

#include "weir/status.h"

namespace weir::drivers {

struct Limits {
  static constexpr uint64_t kUnlimited = UINT64_MAX;

  uint64_t shm_bytes = 0;      ///< size of /dev/shm; 0: there is none
  uint64_t memlock_bytes = 0;  ///< that may be locked, which is what registering memory with a NIC does
  uint64_t open_files = 0;

  bool operator==(const Limits&) const = default;
};

/// Of this process. Never fails: what cannot be asked is kUnlimited.
Limits read_limits();

/// Three numbers by name, and back. Errors: invalid_argument.
std::string write_record(const Limits& limits);
Result<Limits> read_limits_record(const std::string& text);

}  // namespace weir::drivers
