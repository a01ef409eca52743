// SPDX-License-Identifier: Apache-2.0

#include "algorithms/sim/buckets.h"

#include <algorithm>

namespace weir::sim {

Buckets::Buckets(const algorithms::Network& network, double burst, std::span<const double> tokens)
    : burst_(burst) {
  if (burst == 0) return;
  for (size_t e = 0; e < network.edges.size(); ++e) {
    const auto capacity = static_cast<double>(network.edges[e].capacity);
    buckets_.push_back({tokens.empty() ? 0 : tokens[e], capacity * algorithms::kCapacityUnit * 1e9});
  }
}

/// Rounding may make an edge slightly more than full: that consumes no tokens.
void Buckets::fill(Bucket& bucket, double now) const {
  const double more = std::max(0.0, bucket.left_over) * (now - bucket.since);
  bucket.tokens = std::min(burst_, bucket.tokens + more);
  bucket.since = now;
}

double Buckets::take(std::span<const int32_t> path, double bytes, double now) {
  if (burst_ == 0) return 0;
  for (const int32_t edge : path) {
    Bucket& bucket = buckets_[static_cast<size_t>(edge)];
    fill(bucket, now);
    bytes = std::min(bytes, bucket.tokens);
  }
  for (const int32_t edge : path) buckets_[static_cast<size_t>(edge)].tokens -= bytes;
  return bytes;
}

void Buckets::add_load(std::span<const int32_t> path, double rate, double now) {
  if (burst_ == 0) return;
  for (const int32_t edge : path) {
    Bucket& bucket = buckets_[static_cast<size_t>(edge)];
    fill(bucket, now);
    bucket.left_over -= rate;
  }
}

std::vector<double> Buckets::tokens(double now) {
  std::vector<double> found;
  for (Bucket& bucket : buckets_) {
    fill(bucket, now);
    found.push_back(bucket.tokens);
  }
  return found;
}

}  // namespace weir::sim
