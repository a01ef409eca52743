/// A layout for tests that make every plan of the catalogue.
#pragma once

#include <algorithm>
#include <vector>

#include "algorithms/layout.h"

namespace weir::algorithms {

/// Two levels over any number of ranks: groups of 3, 1 and 4, and pairs in these. Three rings: in order,
/// back, and with neighbours swapped.
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
  return layout;
}

}  // namespace weir::algorithms
