/// Sums in the order of a balanced binary tree over places 0, 1, 2, ..., so that the bits do not depend on
/// who holds which places or in which order they come.
///
/// A node of level l covers the places [i * 2^l, (i + 1) * 2^l); its sum is that of its left child plus that
/// of its right child, or the left one's alone where the right child lies wholly beyond the last place.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "trainer/math/buffer.h"

namespace weir::trainer {

/// The tree's sum of numbers; 0 without any.
double tree_sum(std::span<const double> values);

/// The tree's sum of arrays that come one place at a time. Siblings are added as soon as both are there:
/// places in rising order leave at most log2 of their number of arrays. Owns these; not thread-safe.
class TreeSum {
 public:
  /// Arrays of `size` floats, for the places 0 to `places` - 1 of the whole tree.
  TreeSum(Index size, Index places) : size_(size), places_(places) {}

  /// An array for the next place, zeroed; it stays the tree's.
  float* open();
  /// Adds the array last opened as that of `place`. REQUIRES: 0 <= place < places, and not added before.
  void close(Index place);

  /// Adds the root to `sum` and empties the tree. REQUIRES: every place was added.
  void add_root_to(float* sum);

 private:
  using Node = std::pair<int, Index>;  ///< level, number within it

  void insert(Node node, Buffer array);
  Buffer take_free();

  Index size_;
  Index places_;
  Buffer open_;
  std::map<Node, Buffer> waiting_;
  std::vector<Buffer> free_;
};

}  // namespace weir::trainer
