// SPDX-License-Identifier: Apache-2.0
/// Counters of lost packets of this machine's RDMA ports, from the files ports/N/counters and
/// ports/N/hw_counters of a device below /sys/class/infiniband.
///
/// Which files exist depends on the driver; this class reads InfiniBand's standard counters and those of
/// mlx5, bnxt_re and Soft-RoCE (rxe). They count the packets of all processes at the port.
/// Tests: tests/drivers/rdma_counters_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "src/drivers/files.h"

namespace weir::drivers {

struct RdmaCounts {
  /// Number of retransmissions started by senders of the port, after a report of missing packets or of a
  /// receiver that was not ready, or after a timeout. One retransmission may cover many packets.
  uint64_t retries = 0;
  uint64_t dropped = 0;  ///< packets not sent, or received with errors or without a free buffer
};

/// Counts lost packets since begin(). Thread-safe.
class RdmaCounters {
 public:
  using Port = std::pair<std::string, uint8_t>;  ///< device name and port number

  explicit RdmaCounters(std::unique_ptr<Files> files) : files_(std::move(files)) {}

  /// Reads the initial values of the ports' counters, and logs (net, INFO) which files are used. Further
  /// calls do nothing.
  void begin(const std::vector<Port>& ports);
  /// The sums over all ports since begin(); 0 before. A missing file or one without a number counts nothing.
  /// A counter that has decreased is assumed to have wrapped at 32 bits if that gives a difference below
  /// 2^30, and else to have been reset to 0. Reads files.
  RdmaCounts read() const;

 private:
  struct Counter {
    std::string path;
    bool drops = false;  ///< true: counts drops; false: counts retries
    uint64_t before = 0;
  };

  mutable std::mutex mutex_;
  std::unique_ptr<Files> files_;
  bool begun_ = false;
  std::vector<Counter> counters_;
};

}  // namespace weir::drivers
