// SPDX-License-Identifier: Apache-2.0
/// What a user may configure per communicator: ncclConfig_t after checking, with the environment applied.
///
/// A plain value.
#pragma once

#include <cstddef>
#include <string>

#include "transports/transports.h"

namespace weir::device {
class Gpu;
}

namespace weir::core {

struct Config {
  bool blocking = true;  ///< false: connect and run return in_progress at once and go on in the background
  std::string name;      ///< for messages; may be empty
  bool check_pointers = false;  ///< buffers are looked at before they are used
  NetworkChoice network;
  device::Gpu* gpu = nullptr;  ///< this rank's; null: the one that the thread which makes it has current
  /// Rings of plans, side by side, within what the options allow; rank 0's count for all. 0: as those say.
  size_t least_rings = 0;
  size_t most_rings = 0;
};

}  // namespace weir::core
