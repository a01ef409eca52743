// SPDX-License-Identifier: Apache-2.0
/// Links behind rate limiters: token buckets, which save up what an idle link could have carried.
///
/// A bucket fills at what the edge's capacity leaves over, up to `burst` bytes; what is in it passes at once
/// (Linux's tbf, limits of virtual machines). The bytes of a flow that find tokens in the buckets of all its
/// edges take no time there; the others are served at the fair rate.
///
/// One thread at a time. None of the calls fails.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/network/network.h"

namespace weir::sim {

class Buckets {
 public:
  /// `burst`: bytes, of every edge; 0: there are no buckets, and calls cost nothing. `tokens`: in the buckets
  /// at time 0, by edge; empty: none.
  Buckets(const algorithms::Network& network, double burst, std::span<const double> tokens);

  /// Takes the tokens that all edges of the path have, at most `bytes`; returns how many. `now`: seconds,
  /// never less than before.
  double take(std::span<const int32_t> path, double bytes, double now);
  /// From now on the edges of the path carry so many bytes per second more (or less).
  void add_load(std::span<const int32_t> path, double rate, double now);
  /// By edge; empty without buckets.
  std::vector<double> tokens(double now);

 private:
  struct Bucket {
    double tokens;     // bytes, at `since`
    double left_over;  // bytes per second that nobody uses
    double since = 0;
  };
  void fill(Bucket& bucket, double now) const;

  const double burst_;
  std::vector<Bucket> buckets_;  // by edge
};

}  // namespace weir::sim
