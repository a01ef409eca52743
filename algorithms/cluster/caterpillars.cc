// SPDX-License-Identifier: Apache-2.0

#include "algorithms/cluster/caterpillars.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "src/base/index.h"

namespace weir::algorithms {
namespace {

/// A host that receives blocks from another one; from none if it is the root.
struct Hop {
  int32_t from = -1;
  int32_t to = 0;
  Span blocks;
};

/// A point that moves from a host to the next one.
struct Step {
  int64_t block = 0;  ///< first block for which it is at `to`
  int64_t border = 0;
  int32_t from = 0;
  int32_t to = 0;
};

/// The tree of one block, which is changed into that of the next one.
///
/// A place is a position beside a host of the chain for a leaf: a host with no point, or a group with one
/// edge across its border. The numbers of points guarantee that all places are used.
class Caterpillar {
 public:
  Caterpillar(std::vector<HostGroup> groups, std::vector<int64_t> points)
      : groups_(std::move(groups)),
        top_(static_cast<int32_t>(groups_.size()) - 1),
        met_(std::move(points)),
        chain_(groups_.size()),
        foreign_(groups_.size()),
        away_(groups_.size()),
        beside_(groups_.size(), -1),
        leaves_(met_.size()),
        source_(met_.size(), -1),
        since_(met_.size()) {
    met_.resize(groups_.size());
    for (size_t g = leaves_.size(); g < groups_.size(); ++g) {
      for (const int32_t child : groups_[g].children) {
        met_[g] += met_[at(child)];
        if (degree(child) > 1) chain_[g].insert(child);
      }
    }
    for (int32_t g = 0; g < top_; ++g) {
      if (is_host(g)) touched_.insert(g);
      if (groups_[at(g)].parent >= 0 && degree(g) <= 1 && has_body(g)) standing_.push_back(g);
    }
    std::sort(standing_.begin(), standing_.end(),
              [&](int32_t a, int32_t b) { return groups_[at(a)].first < groups_[at(b)].first; });
    attach_all();
    for (size_t host = 0; host < source_.size(); ++host)
      source_[host] = source_now(static_cast<int32_t>(host));
  }

  /// Changes the tree before a step into the tree after it. In between, the point is at both hosts, so that
  /// no chain is empty that is not empty in either tree.
  void take(const Step& step) {
    const std::vector<int32_t> path = paths(step);
    touched_.clear();
    touch(path);
    const auto has = [&](int32_t g, int32_t host) {
      return groups_[at(g)].first <= host && host < groups_[at(g)].last;
    };
    for (int32_t g = step.to; !has(g, step.from); g = groups_[at(g)].parent) {
      if (++met_[at(g)]; degree(g) == 2) become_link(g);
    }
    for (int32_t g = step.from; !has(g, step.to); g = groups_[at(g)].parent) {
      if (--met_[at(g)]; degree(g) == 1) become_leaf(g);
    }
    touch(path);
    attach_all();
    for (const int32_t host : touched_) follow_source(host, step.block);
  }

  std::vector<Hop> finish(int64_t blocks) {
    for (size_t host = 0; host < source_.size(); ++host) close(static_cast<int32_t>(host), blocks);
    return std::move(edges_);
  }

 private:
  /// Number of edges across the border.
  int64_t degree(int32_t g) const { return met_[at(g)] - (groups_[at(g)].last - groups_[at(g)].first) + 2; }
  bool is_host(int32_t g) const { return at(g) < leaves_.size(); }
  /// Whether the group is connected inside; otherwise its hosts are separate pieces.
  bool has_body(int32_t g) const { return is_host(g) || !chain_[at(g)].empty(); }

  /// The host by which a group is entered, and the host by which its chain is left.
  int32_t front(int32_t g) const {
    while (!is_host(g)) g = *chain_[at(g)].begin();
    return g;
  }
  int32_t back(int32_t g) const {
    while (!is_host(g)) g = *chain_[at(g)].rbegin();
    return g;
  }
  /// The neighbour in the chain of its group; -1 for the last or first one.
  int32_t next(int32_t g) const {
    const auto& chain = chain_[at(groups_[at(g)].parent)];
    const auto found = chain.upper_bound(g);
    return found == chain.end() ? -1 : *found;
  }
  int32_t before(int32_t g) const {
    const auto& chain = chain_[at(groups_[at(g)].parent)];
    const auto found = chain.lower_bound(g);
    return found == chain.begin() ? -1 : *std::prev(found);
  }

  int64_t places(int32_t host) const {
    if (met_[at(host)] == 0) return 0;
    int64_t places = met_[at(host)] - 1 + (front(top_) == host ? 1 : 0);
    int32_t g = host;
    while (g != top_ && degree(g) > 1 && next(g) < 0) g = groups_[at(g)].parent;
    return places + (g == top_ || degree(g) <= 1 ? 1 : 0);  // a chain ends here
  }
  int64_t free_places(int32_t host) const {
    return places(host) - static_cast<int64_t>(leaves_[at(host)].size());
  }

  /// The host from which a host receives blocks.
  int32_t source_now(int32_t host) const {
    for (int32_t g = host; g != top_; g = groups_[at(g)].parent) {
      if (degree(g) <= 1) return beside_[at(g)];
      if (const int32_t link = before(g); link >= 0) return back(link);
    }
    return -1;
  }

  /// Calls visit(set, group) for all groups whose border a leaf's edge crosses, inwards or outwards.
  template <typename Visit>
  void each_crossing(int32_t leaf, int32_t host, const Visit& visit) {
    const auto holds = [&](int32_t g, const HostGroup& inner) {
      return groups_[at(g)].first <= inner.first && inner.last <= groups_[at(g)].last;
    };
    const int32_t own_group = groups_[at(leaf)].parent;
    for (int32_t g = groups_[at(host)].parent; !holds(g, groups_[at(own_group)]); g = groups_[at(g)].parent)
      visit(foreign_[at(g)], g);
    for (int32_t g = own_group; !holds(g, groups_[at(host)]); g = groups_[at(g)].parent)
      visit(away_[at(g)], g);
  }

  void attach(int32_t leaf, int32_t host) {
    beside_[at(leaf)] = host;
    leaves_[at(host)].push_back(leaf);
    each_crossing(leaf, host, [&](std::set<int32_t>& set, int32_t g) {
      set.insert(leaf);
      crossed_.insert(g);
    });
    moved_.push_back(leaf);
  }
  void detach(int32_t leaf) {
    const int32_t host = std::exchange(beside_[at(leaf)], -1);
    std::erase(leaves_[at(host)], leaf);
    each_crossing(leaf, host, [&](std::set<int32_t>& set, int32_t) { set.erase(leaf); });
  }

  /// All groups that a step is in, leaves or enters, except the top.
  std::vector<int32_t> paths(const Step& step) const {
    std::vector<int32_t> path;
    for (const int32_t host : {step.from, step.to}) {
      for (int32_t g = host; g != top_; g = groups_[at(g)].parent) path.push_back(g);
    }
    return path;
  }

  /// Hosts whose places or sources may change with these groups.
  void touch(const std::vector<int32_t>& path) {
    const auto ends = [&](int32_t g) {
      if (!has_body(g)) return;
      touched_.insert(front(g));
      touched_.insert(back(g));
    };
    ends(top_);
    for (const int32_t g : path) {
      ends(g);
      for (const int32_t link : {before(g), next(g)}) {
        if (link >= 0) ends(link);
      }
    }
  }

  void become_leaf(int32_t g) {
    const int32_t around = groups_[at(g)].parent;
    chain_[at(around)].erase(g);
    standing_.push_back(g);
    if (chain_[at(around)].empty()) no_leaf(around);
  }
  void become_link(int32_t g) {
    const int32_t around = groups_[at(g)].parent;
    no_leaf(g);
    if (chain_[at(around)].empty()) standing_.push_back(around);
    chain_[at(around)].insert(g);
  }
  void no_leaf(int32_t g) {
    if (beside_[at(g)] < 0) {
      std::erase(standing_, g);
    } else {
      touched_.insert(beside_[at(g)]);
      detach(g);
    }
  }

  /// Leaves without a place take free places. Then foreign leaves in a group swap places with leaves of the
  /// group that are elsewhere, inner groups first; so no leaf is placed in itself, because there are no more
  /// places than leaves.
  void attach_all() {
    for (const int32_t host : touched_) {
      while (free_places(host) < 0) {
        standing_.push_back(leaves_[at(host)].back());
        detach(standing_.back());
      }
    }
    auto leaf = standing_.begin();
    for (const int32_t host : touched_) {
      for (int64_t places = free_places(host); places > 0; --places) attach(*leaf++, host);
    }
    standing_.clear();
    while (!crossed_.empty()) {
      const int32_t g = *crossed_.begin();
      crossed_.erase(g);
      while (!foreign_[at(g)].empty() && !away_[at(g)].empty()) {
        const int32_t foreigner = *foreign_[at(g)].begin();
        const int32_t own = *away_[at(g)].begin();
        const int32_t inside = beside_[at(foreigner)];
        const int32_t outside = beside_[at(own)];
        detach(foreigner);
        detach(own);
        attach(own, inside);
        attach(foreigner, outside);
      }
    }
    for (const int32_t each : moved_) touched_.insert(front(each));
    moved_.clear();
  }

  void close(int32_t host, int64_t block) {
    if (since_[at(host)] < block) edges_.push_back({source_[at(host)], host, {since_[at(host)], block}});
    since_[at(host)] = block;
  }
  void follow_source(int32_t host, int64_t block) {
    const int32_t source = source_now(host);
    if (source == source_[at(host)]) return;
    close(host, block);
    source_[at(host)] = source;
  }

  const std::vector<HostGroup> groups_;
  const int32_t top_;
  std::vector<int64_t> met_;                  // index: group; number of points on it
  std::vector<std::set<int32_t>> chain_;      // index: group; children with two or more edges across
  std::vector<std::set<int32_t>> foreign_;    // index: group; leaves from elsewhere with places in it
  std::vector<std::set<int32_t>> away_;       // index: group; its leaves with places elsewhere
  std::vector<int32_t> beside_;               // index: group; the host at which it has its place, or -1
  std::vector<std::vector<int32_t>> leaves_;  // index: host; the leaves with places there
  std::vector<int32_t> source_;               // index: host; the host that sends it blocks
  std::vector<int64_t> since_;                // index: host; the first block from that source
  std::vector<int32_t> standing_;             // leaves without a place
  std::vector<int32_t> moved_;                // leaves with new places
  std::set<int32_t> crossed_;                 // groups whose foreign or absent leaves have changed
  std::set<int32_t> touched_;
  std::vector<Hop> edges_;
};

/// Two groups at the top are always connected by one edge; a chain needs three children.
std::vector<HostGroup> with_three_at_the_top(std::vector<HostGroup> groups) {
  HostGroup& top = groups.back();
  if (top.children.size() > 2) return groups;
  const size_t wide = groups[at(top.children[0])].children.empty() ? 1 : 0;
  const int32_t other = top.children[1 - wide];
  std::vector<int32_t> children = groups[at(top.children[wide])].children;
  children.insert(wide == 0 ? children.end() : children.begin(), other);
  for (const int32_t child : children) groups[at(child)].parent = static_cast<int32_t>(groups.size()) - 1;
  groups[at(top.children[wide])].parent = -1;  // the group is dissolved
  top.children = std::move(children);
  return groups;
}

/// Renumbers blocks, so that blocks with one root are consecutive in the order of hosts.
HostTrees by_root(const std::vector<Hop>& edges, size_t hosts) {
  struct Row {
    Span old;
    int32_t root = 0;
    int64_t first = 0;  ///< new number of the first block
  };
  std::vector<Row> rows;
  for (const Hop& edge : edges) {
    if (edge.from < 0) rows.push_back({edge.blocks, edge.to, 0});
  }
  const auto by_old = [](const Row& a, const Row& b) { return a.old.first < b.old.first; };
  std::sort(rows.begin(), rows.end(), by_old);
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.root < b.root; });
  HostTrees trees{std::vector<int64_t>(hosts + 1), {}};
  int64_t next = 0;
  std::vector<int64_t> owned(hosts);
  for (Row& row : rows) {
    row.first = next;
    next += row.old.last - row.old.first;
    owned[at(row.root)] += row.old.last - row.old.first;
  }
  for (size_t host = 0; host < hosts; ++host)
    trees.first_block[host + 1] = trees.first_block[host] + owned[host];
  std::sort(rows.begin(), rows.end(), by_old);
  std::vector<Hop> renumbered;
  for (const Hop& edge : edges) {
    if (edge.from < 0) continue;
    auto row = std::upper_bound(rows.begin(), rows.end(), edge.blocks.first,
                                [](int64_t block, const Row& each) { return block < each.old.last; });
    for (; row != rows.end() && row->old.first < edge.blocks.last; ++row) {
      const int64_t shift = row->first - row->old.first;
      renumbered.push_back({edge.from,
                            edge.to,
                            {std::max(edge.blocks.first, row->old.first) + shift,
                             std::min(edge.blocks.last, row->old.last) + shift}});
    }
  }
  std::sort(renumbered.begin(), renumbered.end(), [](const Hop& a, const Hop& b) {
    return std::tuple(a.from, a.to, a.blocks.first) < std::tuple(b.from, b.to, b.blocks.first);
  });
  for (size_t i = 0; i < renumbered.size();) {
    const auto& [from, to, first] = renumbered[i];
    std::vector<Span> spans;
    for (; i < renumbered.size() && renumbered[i].from == from && renumbered[i].to == to; ++i)
      spans.push_back(renumbered[i].blocks);
    trees.transfers.push_back({from, to, joined(std::move(spans))});
  }
  return trees;
}

}  // namespace

HostTrees caterpillars(const std::vector<HostGroup>& groups, const Degrees& degrees) {
  const int64_t blocks = degrees.blocks;
  const size_t hosts = degrees.hosts.size();
  if (hosts == 2) return {{0, blocks, blocks}, {{0, 1, {{0, blocks}}}}};
  std::vector<int64_t> points;  // points of the first tree
  std::vector<Step> steps;
  int64_t end = 0;
  int32_t last = -1;  // host with space for a point
  for (size_t host = 0; host < hosts; ++host) {
    const int64_t start = end;
    end += degrees.hosts[host] - blocks;
    points.push_back((end + blocks - 1) / blocks - (start + blocks - 1) / blocks);
    if (start == end) continue;
    const auto here = static_cast<int32_t>(host);
    if (last >= 0 && start % blocks != 0) steps.push_back({start % blocks, start, last, here});
    last = here;
  }
  std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
    return std::pair(a.block, a.border) < std::pair(b.block, b.border);
  });
  Caterpillar tree(with_three_at_the_top(groups), std::move(points));
  for (const Step& step : steps) tree.take(step);
  return by_root(tree.finish(blocks), hosts);
}

}  // namespace weir::algorithms
