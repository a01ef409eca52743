// SPDX-License-Identifier: Apache-2.0

#include "src/cli/catalogue_plan.h"

#include <algorithm>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/catalogue/layout.h"
#include "algorithms/catalogue/planned.h"
#include "algorithms/ir/relabel.h"
#include "src/cli/rings.h"

namespace weir::cli {

using topology::Index;
using topology::NodeKind;

Result<ir::Plan> plan_by(std::string_view algorithm, const PlanTask& task, Rank root) {
  std::vector<Index> hosts;
  for (const int32_t node : task.network.rank_nodes)
    hosts.push_back(task.graph.holder(task.network.origin[static_cast<size_t>(node)], NodeKind::host));
  algorithms::Layout layout = algorithms::layout_of(task.graph, hosts);
  if (algorithm == "ring_set") {
    auto rings = rings_of(task, layout.order);
    WEIR_TRY(rings.status());
    layout.rings = std::move(*rings);
  }
  if (algorithm == "planned") algorithms::join(layout, task.network, task.between_hosts);
  const int ranks = task.network.ranks();
  const algorithms::Entry* entry = algorithms::find(algorithm, task.collective);
  ir::Shape shape{task.collective, ranks, has_root(task.collective) ? root : 0,
                  entry == nullptr ? 1 : algorithms::default_chunks(*entry, ranks, layout)};
  if (has_root(task.collective) && root >= 0 && root < ranks)
    shape.root =
        static_cast<Rank>(std::find(layout.order.begin(), layout.order.end(), root) - layout.order.begin());
  auto plan = algorithms::emit(algorithm, shape, layout);
  WEIR_TRY(plan.status());
  return ir::relabelled(std::move(*plan), layout.order);
}

}  // namespace weir::cli
