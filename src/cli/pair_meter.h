// SPDX-License-Identifier: Apache-2.0
/// Latency and bandwidth between two hosts, over weir's own sends and receives.
#pragma once

#include <cstddef>
#include <vector>

#include "src/core/communicator/communicator.h"
#include "weir/status.h"

namespace weir::cli {

/// Both ends call the same function at about the same time, each naming the other; others may do so in other
/// pairs. Both ends agree when to stop, so neither waits for long. Errors are the communicator's. Not
/// thread-safe.
class PairMeter {
 public:
  /// `communicator` must outlive it.
  explicit PairMeter(core::Communicator& communicator) : communicator_(communicator) {}

  /// The least half round trip of 8 bytes, one way: of up to 2000, as many as the seconds give room for.
  /// Known at the lower rank; the other gets 0.
  Result<double> latency_us(Rank peer, double seconds);
  /// Blocks both ways for so many seconds, of which the first quarter does not count: 1e9 bytes per second of
  /// each direction.
  Result<double> gb_per_s(Rank peer, double seconds);

 private:
  Status send(Rank peer, const void* data, size_t bytes);
  Status receive(Rank peer, void* data, size_t bytes);
  Status exchange(Rank peer, size_t bytes);

  core::Communicator& communicator_;
  std::vector<std::byte> out_;
  std::vector<std::byte> in_;
};

}  // namespace weir::cli
