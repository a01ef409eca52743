// SPDX-License-Identifier: Apache-2.0
/// Latency and bandwidth between two hosts, measured with weir's own sends and receives.
/// Tests: tests/topology/measure_test.py, tests/cli/measure_test.cc
#pragma once

#include <cstddef>
#include <vector>

#include "src/base/status.h"
#include "src/core/communicator/communicator.h"

namespace weir::cli {

/// Both ends call the same function at about the same time, each with the other's rank; other pairs may
/// measure at the same time. Both ends agree when to stop, so neither waits long. Errors are the
/// communicator's. Not thread-safe.
class PairMeter {
 public:
  /// `communicator` must outlive it.
  explicit PairMeter(core::Communicator& communicator) : communicator_(communicator) {}

  /// Smallest half round trip of 8 bytes; us. Takes up to 2000 samples within `seconds`. The lower rank gets
  /// the result, the other one 0.
  Result<double> latency_us(Rank peer, double seconds);
  /// Exchanges blocks in both directions for `seconds`, without counting the first quarter; returns 1e9 bytes
  /// per second of each direction.
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
