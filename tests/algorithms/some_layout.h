/// A layout for tests that make every plan of the catalogue.
#pragma once

#include <algorithm>
#include <vector>

#include "algorithms/layout.h"

namespace weir::algorithms {

/// Two levels over any number of ranks: groups of 3, 1 and 4, and pairs in these.
inline Layout some_layout(int ranks) {
  Groups wide, pairs;
  constexpr int kSizes[] = {3, 1, 4};
  for (int first = 0, group = 0; first < ranks; first += kSizes[group++ % 3]) {
    wide.push_back(first);
    for (int pair = first; pair < std::min(ranks, first + kSizes[group % 3]); pair += 2)
      pairs.push_back(pair);
  }
  return {.levels = {wide, pairs}};
}

}  // namespace weir::algorithms
