// SPDX-License-Identifier: Apache-2.0
/// The host and leaf switch of a rank. Plain data.
/// Tests: tests/library/topology_test.cc
#pragma once

namespace weir::core {

/// Hosts, and groups of hosts on the same leaf switches, are numbered from 0 in the order of their lowest
/// ranks.
struct RankPlace {
  int host = 0;
  int leaf = 0;

  bool operator==(const RankPlace&) const = default;
};

}  // namespace weir::core
