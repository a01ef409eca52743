// SPDX-License-Identifier: Apache-2.0

#include "algorithms/spanning/forests.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "src/base/index.h"

namespace weir::algorithms {
namespace {

/// Disjoint forests that grow together.
class Forests {
 public:
  Forests(int ranks, const std::vector<DuplexLink>& links, int trees)
      : links_(links), ranks_(ranks), forests_(at(trees)) {
    for (Forest& forest : forests_) forest.touching.resize(at(ranks));
  }

  /// Adds one unit of a link to one of the forests; false: it closes a cycle in all of them.
  bool add(size_t link) {
    chain_ = {{link, forests_.size(), 0}};
    std::vector<std::vector<char>> seen(forests_.size(), std::vector<char>(links_.size()));
    for (size_t step = 0; step < chain_.size(); ++step) {
      const size_t next =
          chain_[step].forest >= forests_.size() ? 0 : (chain_[step].forest + 1) % forests_.size();
      const DuplexLink& own = links_[chain_[step].link];
      if (!find_path(forests_[next], own.a, own.b)) {
        swap_along(step, next);
        return true;
      }
      for (size_t each : path_) {
        if (seen[next][each] != 0) continue;
        seen[next][each] = 1;
        chain_.push_back({each, next, step});
      }
    }
    return false;
  }

  std::vector<std::vector<size_t>> take() {
    std::vector<std::vector<size_t>> trees;
    for (Forest& forest : forests_) trees.push_back(std::move(forest.links));
    return trees;
  }

 private:
  struct Forest {
    std::vector<size_t> links;
    std::vector<std::vector<size_t>> touching;  // index: rank; its links
  };
  /// A link and its forest; `before` is a link that could replace it there.
  struct Step {
    size_t link;
    size_t forest;
    size_t before;
  };

  int32_t other_end(size_t link, int32_t end) const { return links_[link].a + links_[link].b - end; }

  /// Sets path_ to the links between two ranks; false if there is no path.
  bool find_path(const Forest& forest, int32_t from, int32_t to) {
    constexpr size_t kNone = SIZE_MAX;
    std::vector<size_t> towards(at(ranks_), kNone);
    std::vector<int32_t> reached = {to};
    for (size_t i = 0; i < reached.size() && towards[at(from)] == kNone; ++i) {
      for (size_t link : forest.touching[at(reached[i])]) {
        const int32_t end = other_end(link, reached[i]);
        if (end == to || towards[at(end)] != kNone) continue;
        towards[at(end)] = link;
        reached.push_back(end);
      }
    }
    if (towards[at(from)] == kNone) return false;
    path_.clear();
    for (int32_t node = from; node != to; node = other_end(path_.back(), node))
      path_.push_back(towards[at(node)]);
    return true;
  }

  void put(Forest& forest, size_t link) {
    forest.links.push_back(link);
    for (int32_t end : {links_[link].a, links_[link].b}) forest.touching[at(end)].push_back(link);
  }
  void remove(Forest& forest, size_t link) {
    std::erase(forest.links, link);
    for (int32_t end : {links_[link].a, links_[link].b}) std::erase(forest.touching[at(end)], link);
  }

  /// Moves the link of `step` to `forest`, replaces it by the link before it, and so on.
  void swap_along(size_t step, size_t forest) {
    for (;; step = chain_[step].before) {
      const size_t old = chain_[step].forest;
      if (old < forests_.size()) remove(forests_[old], chain_[step].link);
      put(forests_[forest], chain_[step].link);
      if (old >= forests_.size()) return;
      forest = old;
    }
  }

  const std::vector<DuplexLink>& links_;
  const int ranks_;
  std::vector<Forest> forests_;
  std::vector<Step> chain_;
  std::vector<size_t> path_;
};

}  // namespace

Result<std::vector<std::vector<size_t>>> spanning_trees(int ranks, const std::vector<DuplexLink>& links,
                                                        int trees) {
  Forests forests(ranks, links, trees);
  int64_t missing = static_cast<int64_t>(ranks - 1) * trees;
  // One unit of each in turn, so that the trees become similar, instead of using all links of one tree first.
  std::vector<int64_t> left;
  for (const DuplexLink& link : links) left.push_back(std::min<int64_t>(link.capacity, trees));
  for (bool grown = true; grown && missing > 0;) {
    grown = false;
    for (size_t link = 0; link < links.size() && missing > 0; ++link) {
      if (left[link] == 0) continue;
      if (forests.add(link)) {
        --left[link];
        --missing;
        grown = true;
      } else {
        left[link] = 0;
      }
    }
  }
  if (missing == 0) return forests.take();
  return Status(Code::invalid_argument,
                fmt::format("{} spanning trees over {} ranks lack {} links: expected fewer trees", trees,
                            ranks, missing));
}

}  // namespace weir::algorithms
