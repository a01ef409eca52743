// SPDX-License-Identifier: Apache-2.0

#include "algorithms/cluster/direct_parts.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "src/base/index.h"

namespace weir::algorithms {
namespace {

/// Products of parts and blocks stay far below 2^63.
constexpr int64_t kMostDirectParts = int64_t{1} << 40;

size_t length(const Gate& gate) { return gate.in.size() + gate.out.size(); }

/// For each rank its nearest gates.
std::vector<std::vector<int32_t>> nearest_gates(const HostShape& shape) {
  std::vector<std::vector<int32_t>> nearest(shape.network.rank_nodes.size());
  for (size_t g = 0; g < shape.gates.size(); ++g) {
    std::vector<int32_t>& known = nearest[at(shape.gates[g].rank)];
    if (!known.empty() && length(shape.gates[at(known[0])]) < length(shape.gates[g])) continue;
    if (!known.empty() && length(shape.gates[at(known[0])]) > length(shape.gates[g])) known.clear();
    known.push_back(static_cast<int32_t>(g));
  }
  return nearest;
}

}  // namespace

std::optional<ClusterPlan> with_direct_parts(ClusterPlan plan, int64_t direct, int64_t of) {
  if (plan.shapes.size() != 1 || plan.couplings.size() != 1) return {};
  HostShape& shape = plan.shapes[0];
  const std::vector<std::vector<int32_t>> gates = nearest_gates(shape);
  int64_t common = 1;  // each of the nearest gates of a rank takes an equal number of its parts
  for (const std::vector<int32_t>& each : gates) {
    if (each.empty()) return {};
    common = std::lcm(common, std::ssize(each));
    if (common > kMostDirectParts / plan.parts / of) return {};
  }
  const int64_t whole = plan.parts;
  plan.parts = whole * common * of;
  plan.direct_parts = whole * common * direct;
  for (Coupling::Piece& piece : plan.couplings[0].pieces) piece.parts *= common * (of - direct);
  if (direct == of) plan.couplings[0].pieces.clear();
  for (Gate& gate : shape.gates) gate.parts *= common * (of - direct);
  if (direct == 0) return plan;
  for (const std::vector<int32_t>& each : gates) {
    for (const int32_t number : each) {
      shape.gates[at(number)].direct = plan.direct_parts / std::ssize(each);
      plan.couplings[0].direct.push_back({number, number, shape.gates[at(number)].direct});
    }
  }
  std::ranges::sort(plan.couplings[0].direct, {}, &Coupling::Piece::in);
  return plan;
}

ClusterPlan without_direct_parts(ClusterPlan plan) {
  plan.parts -= std::exchange(plan.direct_parts, 0);
  for (HostShape& shape : plan.shapes) {
    for (Gate& gate : shape.gates) gate.direct = 0;
  }
  for (Coupling& coupling : plan.couplings) coupling.direct.clear();
  return plan;
}

}  // namespace weir::algorithms
