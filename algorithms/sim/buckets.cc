#include "algorithms/sim/buckets.h"

#include <algorithm>

namespace weir::sim {

Buckets::Buckets(const algorithms::Network& network, double burst) : burst_(burst) {
  if (burst == 0) return;
  for (const auto& edge : network.edges) {
    buckets_.push_back({0, static_cast<double>(edge.capacity) * algorithms::kCapacityUnit * 1e9});
  }
}

/// Rounding may leave an edge a little more than full: that takes no tokens away.
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

}  // namespace weir::sim
