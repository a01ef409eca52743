// SPDX-License-Identifier: Apache-2.0
/// The speed of a link from this rank to a peer, compared with its own past.
///
/// A plain value.
/// Tests: tests/core/speed_record_test.cc
#pragma once

#include <cstdint>
#include <string>

#include "src/base/types.h"

namespace weir::core {

struct LinkSpeed {
  Rank peer = 0;
  std::string transport;        ///< "tcp"
  std::string over;             ///< "eth0": this rank's interfaces; empty: not known
  double bytes_per_s = 0;       ///< while it was at work; of late
  double past_bytes_per_s = 0;  ///< the same, in calls alike, before that; 0: there is no past yet
  uint64_t calls = 0;           ///< calls through channels to which bytes_per_s belongs
  bool slow = false;            ///< durably slower than in its past
};

/// "rank 3 -> rank 7 by tcp over eth0: 0.61 GB/s over the last 1024 calls, 1.22 GB/s before".
std::string describe(const LinkSpeed& link, Rank from);

}  // namespace weir::core
