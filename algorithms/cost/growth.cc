// SPDX-License-Identifier: Apache-2.0

#include "algorithms/cost/growth.h"

#include <algorithm>
#include <cmath>

namespace weir::cost {
namespace {

double grown(double quarter, double half, double whole, double doublings) {
  constexpr double kMostFactor = 4;  // a plan grows at most with the square of its ranks
  const double before = half - quarter;
  const double last = whole - half;
  if (last == 0) return whole;
  const double factor = before == 0 ? 1 : std::clamp(last / before, 0.0, kMostFactor);
  // last * (factor + factor^2 + ... ), with one term per doubling.
  const bool even = std::abs(factor - 1) < 1e-9;
  const double terms = even ? doublings : factor * (std::pow(factor, doublings) - 1) / (factor - 1);
  return whole + last * terms;
}

Pass grown(const Pass& quarter, const Pass& half, const Pass& whole, double doublings) {
  return {grown(quarter.seconds, half.seconds, whole.seconds, doublings),
          grown(quarter.per_byte, half.per_byte, whole.per_byte, doublings)};
}

}  // namespace

Profile grown(const Profile& quarter, const Profile& half, const Profile& whole, double doublings) {
  return {grown(quarter.first, half.first, whole.first, doublings),
          grown(quarter.further, half.further, whole.further, doublings),
          grown(quarter.load, half.load, whole.load, doublings),
          whole.shared,
          grown(quarter.chunks, half.chunks, whole.chunks, doublings),
          grown(quarter.tile_bytes, half.tile_bytes, whole.tile_bytes, doublings),
          grown(quarter.busiest, half.busiest, whole.busiest, doublings),
          grown(quarter.across, half.across, whole.across, doublings),
          whole.merging,
          grown(quarter.unasked, half.unasked, whole.unasked, doublings)};
}

Environment first_places(const Environment& around, int places) {
  Environment first = around;
  const auto count = static_cast<size_t>(places);
  first.host_of.resize(count);
  first.machine_of.resize(count);
  for (Border& border : first.borders) border.group_of.resize(count);
  return first;
}

}  // namespace weir::cost
