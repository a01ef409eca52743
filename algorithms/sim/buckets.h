// SPDX-License-Identifier: Apache-2.0
/// Links with rate limiters: token buckets, which accumulate the unused capacity of an idle link.
///
/// A bucket fills at the unused capacity of the edge, up to `burst` bytes; its contents pass immediately
/// (Linux's tbf, limits of virtual machines). Bytes of a flow for which there are tokens in the buckets of
/// all its edges take no time there; the others are served at the fair rate.
///
/// One thread at a time. None of the calls fails.
/// Tests: tests/algorithms/sim_flows_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/network/network.h"

namespace weir::sim {

class Buckets {
 public:
  /// `burst`: bytes, for every edge; 0: there are no buckets, and calls cost nothing. `tokens`: bytes in the
  /// buckets at time 0; index: edge; empty: none.
  Buckets(const algorithms::Network& network, double burst, std::span<const double> tokens);

  /// Takes the tokens that all edges of the path have, at most `bytes`; returns their number. `now`: seconds,
  /// never decreasing.
  double take(std::span<const int32_t> path, double bytes, double now);
  /// Changes the load of the path's edges by this number of bytes per second from now on.
  void add_load(std::span<const int32_t> path, double rate, double now);
  /// Index: edge; empty without buckets.
  std::vector<double> tokens(double now);

 private:
  struct Bucket {
    double tokens;     // bytes, at time `since`
    double left_over;  // unused bytes per second
    double since = 0;
  };
  void fill(Bucket& bucket, double now) const;

  const double burst_;
  std::vector<Bucket> buckets_;  // index: edge
};

}  // namespace weir::sim
