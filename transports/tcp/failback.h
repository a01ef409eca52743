// SPDX-License-Identifier: Apache-2.0
/// Tries lost paths of a tcp channel again: opens their connections anew, until they work and the receiver
/// has answered on them. For the files of this folder only.
///
/// Not thread-safe.
/// Tests: tests/transports/tcp_failover_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "transports/tcp/channel.h"
#include "transports/tcp/control_connections.h"
#include "transports/tcp/out_stream.h"

namespace weir::tcp {

class Failback {
 public:
  /// A path is tried after the first pause, and after a failed attempt when twice the last pause has
  /// passed, up to this; so is a path that works no longer than kTrial before it is lost again.
  static constexpr int64_t kLongestPauseNs = 30'000'000'000;
  static constexpr int64_t kTrialNs = 60'000'000'000;

  /// A path that works again.
  struct Regained {
    size_t path = 0;
    std::vector<OutStream> streams;
    double lost_s = 0;  ///< how long it was lost
  };

  /// An attempt may take as long as the time-out of paths. `controls` and `shared` outlive it.
  Failback(Connector connector, SenderControls& controls, const PathTimes& times, Rank peer, Shared& shared)
      : connector_(std::move(connector)),
        controls_(controls),
        times_(times),
        peer_(peer),
        shared_(shared),
        paths_(connector_.paths()) {}
  ~Failback();
  Failback(const Failback&) = delete;
  Failback& operator=(const Failback&) = delete;

  /// The number of the attempt that the connections of a path belong to.
  uint32_t attempt(size_t path) const { return paths_[path].attempt; }
  /// All connections of a path are abandoned.
  void lost(size_t path, int64_t now);
  bool has_lost() const { return lost_ > 0; }
  /// Continues attempts, and begins those that are due if `begins`. Never blocks.
  std::optional<Regained> advance(int64_t now, bool begins);

 private:
  struct Path {
    uint32_t attempt = 0;
    bool lost = false;
    int64_t lost_ns = 0;
    int64_t regained_ns = 0;  // 0: it was never lost
    int64_t pause_ns = 0;
    int64_t next_ns = 0;             // time of the next attempt, or of the end of this one
    std::vector<OutStream> streams;  // of the attempt; empty: none goes on
  };

  void begin(size_t path, int64_t now);
  /// True once all connections of the attempt work.
  Result<bool> works(size_t path);
  void fail(size_t path, int64_t now);
  void drop(Path& path);

  const Connector connector_;
  SenderControls& controls_;
  const PathTimes times_;
  const Rank peer_;
  Shared& shared_;
  std::vector<Path> paths_;
  size_t lost_ = 0;
};

}  // namespace weir::tcp
