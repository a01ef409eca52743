// SPDX-License-Identifier: Apache-2.0

#include "algorithms/best_plan/catalogue_plan.h"

#include <algorithm>
#include <span>
#include <vector>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/catalogue/layout.h"
#include "algorithms/catalogue/planned.h"
#include "algorithms/ir/relabel.h"
#include "algorithms/rings/pack_rings.h"

namespace weir::algorithms {
namespace {

using topology::Index;
using topology::NodeKind;

/// The rings packed into the network, as places of `order`.
Result<Rings> rings_of(const Network& network, std::span<const Rank> order) {
  const auto packing = pack_rings(network);
  WEIR_TRY(packing.status());
  Rings rings = spelled_out(*packing);
  for (Ring& ring : rings) {
    for (Rank& rank : ring) rank = static_cast<Rank>(std::ranges::find(order, rank) - order.begin());
  }
  return rings;
}

}  // namespace

Result<ir::Plan> plan_by(std::string_view algorithm, const PlanRequest& request) {
  std::vector<Index> hosts;
  for (const int32_t node : request.network.rank_nodes)
    hosts.push_back(request.graph.holder(request.network.origin[static_cast<size_t>(node)], NodeKind::host));
  Layout layout = layout_of(request.graph, hosts);
  if (algorithm == "ring_set") {
    auto rings = rings_of(request.network, layout.order);
    WEIR_TRY(rings.status());
    layout.rings = std::move(*rings);
  }
  if (algorithm == "planned") join(layout, request.network, request.between_hosts);
  const int ranks = request.network.ranks();
  const Rank root = request.root;
  const Entry* entry = find(algorithm, request.collective);
  ir::Shape shape{request.collective, ranks, has_root(request.collective) ? root : 0,
                  entry == nullptr ? 1 : default_chunks(*entry, ranks, layout)};
  if (has_root(request.collective) && root >= 0 && root < ranks)
    shape.root =
        static_cast<Rank>(std::find(layout.order.begin(), layout.order.end(), root) - layout.order.begin());
  auto plan = emit(algorithm, shape, layout);
  WEIR_TRY(plan.status());
  return ir::relabelled(std::move(*plan), layout.order);
}

}  // namespace weir::algorithms
