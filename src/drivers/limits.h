// SPDX-License-Identifier: Apache-2.0
/// The kernel's limits for a process of this host that matter for communication.
/// Tests: tests/drivers/machine_test.cc
#pragma once

#include <cstdint>
#include <string>

#include "src/base/status.h"

namespace weir::drivers {

struct Limits {
  static constexpr uint64_t kUnlimited = UINT64_MAX;

  uint64_t shm_bytes = 0;      ///< size of /dev/shm in bytes; 0: /dev/shm does not exist
  uint64_t memlock_bytes = 0;  ///< limit of locked memory in bytes; registering memory with a NIC locks it
  uint64_t open_files = 0;

  bool operator==(const Limits&) const = default;
};

/// The limits of this process. Never fails: a limit that cannot be read is kUnlimited.
Limits read_limits();

/// Writes the limits as three named numbers, and reads them back. Errors: invalid_argument.
std::string write_record(const Limits& limits);
Result<Limits> read_limits_record(const std::string& text);

}  // namespace weir::drivers
