// SPDX-License-Identifier: Apache-2.0
/// What RDMA ports of this machine count of packets that got lost: the files ports/N/counters and
/// ports/N/hw_counters of a device below /sys/class/infiniband.
///
/// Which files there are depends on the driver; those known here are of InfiniBand's own counters, mlx5,
/// bnxt_re and Soft-RoCE (rxe). They are of the port, whosever the packets are.
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
  /// Times that a sender of the port began to send again: it was told that packets are missing, or that the
  /// receiver was not ready, or heard nothing for too long. One may stand for many packets.
  uint64_t retries = 0;
  uint64_t dropped = 0;  ///< packets that the port did not send, or that came with errors or to no room
};

/// Counts since begin(). Thread-safe.
class RdmaCounters {
 public:
  using Port = std::pair<std::string, uint8_t>;  ///< device, number

  explicit RdmaCounters(std::unique_ptr<Files> files) : files_(std::move(files)) {}

  /// Reads what the ports have counted so far, and says in the log (net, INFO) which files tell. Once;
  /// further calls do nothing.
  void begin(const std::vector<Port>& ports);
  /// Since begin(), over its ports; 0 before. A file that is missing, or holds no number, counts nothing.
  /// Where a count has fallen it has wrapped at 32 bits, if that makes less than 2^30, or was set to 0. Reads
  /// files.
  RdmaCounts read() const;

 private:
  struct Counter {
    std::string path;
    bool drops = false;  ///< else retries
    uint64_t before = 0;
  };

  mutable std::mutex mutex_;
  std::unique_ptr<Files> files_;
  bool begun_ = false;
  std::vector<Counter> counters_;
};

}  // namespace weir::drivers
