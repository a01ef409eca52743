// SPDX-License-Identifier: Apache-2.0
/// A layout, and plans in it, for tests that make any plan of the catalogue.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/catalogue/layout.h"

namespace weir::algorithms {

/// Two levels over any number of ranks: groups of 3, 1 and 4, and pairs in these. Three rings: in order,
/// back, and with neighbours swapped. Plans as if they were made for a network, of two and of three chunks.
inline Layout some_layout(int ranks) {
  Groups wide, pairs;
  constexpr int kSizes[] = {3, 1, 4};
  for (int first = 0, group = 0; first < ranks; first += kSizes[group++ % 3]) {
    wide.push_back(first);
    for (int pair = first; pair < std::min(ranks, first + kSizes[group % 3]); pair += 2)
      pairs.push_back(pair);
  }
  Layout layout{.levels = {wide, pairs}};
  for (int ring = 0; ring < 3; ++ring) {
    Ring& order = layout.rings.emplace_back();
    for (int at = 0; at < ranks; ++at) {
      const int swapped = (at ^ 1) < ranks ? at ^ 1 : at;
      order.push_back(ring == 0 ? at : ring == 1 ? ranks - 1 - at : swapped);
    }
  }
  if (ranks < 2) return layout;
  std::vector<ir::Plan> plans = {*emit("double_tree", {Collective::all_reduce, ranks, 0, 2}),
                                 *emit("ring", {Collective::reduce_scatter, ranks, 0, 3}),
                                 *emit("ring", {Collective::all_gather, ranks, 0, 3})};
  for (ir::Plan& plan : plans) plan.algorithm = "planned";
  layout.plans = std::make_shared<const std::vector<ir::Plan>>(std::move(plans));
  return layout;
}

/// The plan of the catalogue with `multiple` times as many chunks as it needs.
inline ir::Plan plan_of(std::string_view algorithm, Collective kind, int ranks, uint32_t multiple = 1,
                        Rank root = 0) {
  const Layout layout = some_layout(ranks);
  const uint32_t chunks = multiple * default_chunks(*find(algorithm, kind), ranks, layout);
  auto plan = emit(algorithm, {kind, ranks, root, chunks}, layout);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return *plan;
}

}  // namespace weir::algorithms
