// SPDX-License-Identifier: Apache-2.0
/// A communicator's configuration: ncclConfig_t after validation, with the environment applied. A plain
/// value.
/// Tests: tests/api/config_test.cc
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "src/base/sum_order.h"
#include "transports/transports.h"

namespace weir::device {
class Gpu;
}

namespace weir::core {

struct Config {
  bool blocking = true;  ///< false: connect and run return in_progress at once and continue in the background
  std::string name;      ///< name used in messages; may be empty
  bool check_pointers = false;  ///< validate buffers before each call
  NetworkChoice network;
  device::Gpu* gpu = nullptr;  ///< this rank's GPU; null: the creating thread's current GPU
  /// Limits of parallel rings in plans, within those of the options; rank 0's apply to all. 0: the options'.
  size_t least_rings = 0;
  size_t most_rings = 0;
  std::optional<SumOrder> order;  ///< nullopt: the option's; the same on all ranks
  /// The number of the rank's device in the cluster that the job pretends to run on; -1: not known yet.
  int pretended_place = -1;
};

}  // namespace weir::core
