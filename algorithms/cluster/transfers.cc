// SPDX-License-Identifier: Apache-2.0

#include "algorithms/cluster/transfers.h"

#include <algorithm>
#include <utility>

#include "src/base/index.h"

namespace weir::algorithms {
namespace {

/// Hosts `first` to `last - 1`: one host, or at least two children.
struct Group {
  int32_t first = 0;
  int32_t last = 0;
  std::vector<Group> children;
  Blocks own;    ///< blocks that originate here
  Blocks final;  ///< blocks that end here
};

class Rings {
 public:
  Rings(std::span<const std::vector<int32_t>> levels, const std::vector<int64_t>& first_block)
      : levels_(levels), first_block_(first_block), all_({{0, first_block.back()}}) {
    hosts_ = static_cast<int32_t>(first_block.size()) - 1;
    top_ = group(0, hosts_, 0);
    final_.resize(at(hosts_));
    choose_ends();
    enter_ends(top_);
  }

  std::vector<HostTransfer> take() {
    outer_ring();
    for (const Group& child : top_.children) inner_ring(child);
    return std::move(transfers_);
  }

 private:
  Group group(int32_t first, int32_t last, size_t level) {
    Group made{first, last, {}, joined({{first_block_[at(first)], first_block_[at(last)]}}), {}};
    if (last - first == 1) return made;
    std::vector<int32_t> borders = {first};
    if (level < levels_.size()) {
      const auto& firsts = levels_[level];
      const auto begin = std::upper_bound(firsts.begin(), firsts.end(), first);
      borders.insert(borders.end(), begin, std::lower_bound(begin, firsts.end(), last));
    } else {
      for (int32_t host = first + 1; host < last; ++host) borders.push_back(host);
    }
    if (borders.size() == 1) return group(first, last, level + 1);
    borders.push_back(last);
    for (size_t i = 0; i + 1 < borders.size(); ++i)
      made.children.push_back(group(borders[i], borders[i + 1], level + 1));
    return made;
  }

  /// Blocks `first` to `last - 1`, wrapping around from the last to the first, end at a host.
  void end_at(int32_t host, int64_t first, int64_t last) {
    const int64_t total = first_block_.back();
    if (first >= last) return;
    const int64_t start = first % total;
    const int64_t end = start + (last - first);
    std::vector<Span> spans = {{start, std::min(end, total)}};
    if (end > total) spans.push_back({0, end - total});
    final_[at(host)] = either(final_[at(host)], joined(std::move(spans)));
  }

  /// No block may end in the child of the outer ring from which it comes.
  void choose_ends() {
    const int64_t total = first_block_.back();
    const auto widest =
        std::max_element(top_.children.begin(), top_.children.end(),
                         [](const Group& a, const Group& b) { return count(a.own) < count(b.own); });
    const int64_t width = count(widest->own);
    if (total - width >= width) {
      for (int32_t host = 0; host < hosts_; ++host)
        end_at(host, first_block_[at(host)] + width, first_block_[at(host + 1)] + width);
      return;
    }
    const int64_t start = first_block_[at(widest->first)];
    const int64_t rest = total - width;
    if (rest == 0) {  // one sender, as in a broadcast
      end_at((widest->first + hosts_ - 1) % hosts_, start, start + width);
      return;
    }
    for (int32_t i = 0; i < hosts_; ++i) {  // in proportion; hosts outside come after the widest child
      const int32_t host = (widest->first + i) % hosts_;
      const int64_t first = (first_block_[at(host)] - start + total) % total;
      const int64_t last = first + first_block_[at(host + 1)] - first_block_[at(host)];
      const auto scaled = [&](int64_t place, int64_t from, int64_t to) {
        return static_cast<int64_t>(static_cast<__int128>(place) * to / from);
      };
      if (host >= widest->first && host < widest->last) {
        end_at(host, start + width + scaled(first, width, rest), start + width + scaled(last, width, rest));
      } else {
        end_at(host, start + scaled(first - width, rest, width), start + scaled(last - width, rest, width));
      }
    }
  }

  void enter_ends(Group& group) {
    std::vector<Span> spans;
    for (int32_t host = group.first; host < group.last; ++host)
      spans.insert(spans.end(), final_[at(host)].begin(), final_[at(host)].end());
    group.final = joined(std::move(spans));
    for (Group& child : group.children) enter_ends(child);
  }

  /// Moves blocks around all children: from the block's own child, past the one where it ends, and into that
  /// at the end.
  void outer_ring() {
    const std::vector<Group>& ring = top_.children;
    const size_t n = ring.size();
    for (size_t i = 0; i < n; ++i) {
      const Group& next = ring[(i + 1) % n];
      const Group& after = ring[(i + 2) % n];
      const Blocks early = without(next.final, after.own);  // they arrive there later
      pass(ring[i], next, without(without(without(all_, next.own), ring[i].final), early));
      if (early.empty()) continue;
      pass(ring[i], after, early);
      for (const Span& span : early) arrive_late(span, next);
    }
  }

  /// Each block reaches `last` from the child before its own one.
  void arrive_late(const Span& span, const Group& last) {
    const std::vector<Group>& ring = top_.children;
    const auto starts = [&](const Group& child) { return first_block_[at(child.first)]; };
    auto origin = std::upper_bound(ring.begin(), ring.end(), span.first,
                                   [&](int64_t block, const Group& child) { return block < starts(child); });
    for (--origin; origin != ring.end() && starts(*origin) < span.last; ++origin) {
      const auto before = (static_cast<size_t>(origin - ring.begin()) + ring.size() - 1) % ring.size();
      pass(ring[before], last, both({span}, origin->own));
    }
  }

  /// Blocks that come from outside and go on pass from the first child to the last. Blocks that end here
  /// start behind the child where they end, and blocks that originate here go from their own child all
  /// around.
  void inner_ring(const Group& group) {
    const std::vector<Group>& ring = group.children;
    for (size_t i = 0; i < ring.size(); ++i) {
      const Group& next = ring[(i + 1) % ring.size()];
      const Blocks around = either(group.final, group.own);
      const Blocks& moving = i + 1 < ring.size() ? all_ : around;
      pass(ring[i], next, without(without(moving, next.own), ring[i].final));
    }
    for (const Group& child : ring) inner_ring(child);
  }

  /// Moves `blocks` from one child of a ring to another: from the sub-child where each block arrived last, to
  /// the sub-child where it belongs first.
  void pass(const Group& from, const Group& to, const Blocks& blocks) {
    if (blocks.empty()) return;
    const std::vector<Group>& inside = from.children;
    for (size_t i = 0; i < inside.size(); ++i)
      enter(inside[(i + inside.size() - 1) % inside.size()].last - 1, to, both(blocks, inside[i].own));
    enter(from.last - 1, to, inside.empty() ? blocks : without(blocks, from.own));
  }

  void enter(int32_t from, const Group& to, const Blocks& blocks) {
    if (blocks.empty()) return;
    const Blocks ending = to.children.empty() ? Blocks{} : both(blocks, to.final);
    if (!ending.empty()) {
      const std::vector<Group>& inside = to.children;
      for (size_t i = 0; i < inside.size(); ++i)
        add(from, inside[(i + 1) % inside.size()].first, both(ending, inside[i].final));
    }
    add(from, to.first, without(blocks, ending));
  }

  void add(int32_t from, int32_t to, Blocks blocks) {
    if (!blocks.empty()) transfers_.push_back({from, to, std::move(blocks)});
  }

  std::span<const std::vector<int32_t>> levels_;
  const std::vector<int64_t>& first_block_;
  const Blocks all_;
  int32_t hosts_ = 0;
  Group top_;
  std::vector<Blocks> final_;  // index: host
  std::vector<HostTransfer> transfers_;
};

}  // namespace

std::vector<HostTransfer> nested_rings(std::span<const std::vector<int32_t>> levels,
                                       const std::vector<int64_t>& first_block) {
  return Rings(levels, first_block).take();
}

}  // namespace weir::algorithms
