// SPDX-License-Identifier: Apache-2.0

#include "algorithms/network/max_flow.h"

#include <algorithm>
#include <numeric>

#include "src/base/index.h"

namespace weir::algorithms {
template <typename Amount>
MaxFlow<Amount>::MaxFlow(int32_t nodes, std::span<const Edge> edges, Direction direction)
    : begin_(at(nodes) + 1),
      arc_of_(edges.size()),
      supply_(at(nodes)),
      left_(at(nodes)),
      level_(at(nodes), -1),
      next_(at(nodes)) {
  connect(edges, direction);
  for (size_t edge = 0; edge < edges.size(); ++edge) set_capacity(edge, edges[edge].capacity);
}

/// An edge and the next unmatched edge in the opposite direction share a pair of arcs; other edges get a
/// reverse arc without capacity.
template <typename Amount>
void MaxFlow<Amount>::connect(std::span<const Edge> edges, Direction direction) {
  const auto tail = [&](int32_t edge) {
    return direction == Direction::along ? edges[at(edge)].from : edges[at(edge)].to;
  };
  const auto head = [&](int32_t edge) {
    return direction == Direction::along ? edges[at(edge)].to : edges[at(edge)].from;
  };
  std::vector<int32_t> order(edges.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](int32_t edge) {
    return std::pair(std::min(tail(edge), head(edge)), std::max(tail(edge), head(edge)));
  };
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return key(a) < key(b); });

  constexpr int32_t kNoEdge = -1;
  std::vector<std::pair<int32_t, int32_t>> pairs;  // edge, opposite edge
  for (size_t i = 0; i < order.size(); ++i) {
    const bool paired =
        i + 1 < order.size() && key(order[i]) == key(order[i + 1]) && tail(order[i]) == head(order[i + 1]);
    pairs.emplace_back(order[i], paired ? order[i + 1] : kNoEdge);
    if (paired) ++i;
  }
  for (const auto& [edge, opposite] : pairs) {
    ++begin_[at(head(edge)) + 1];
    ++begin_[at(tail(edge)) + 1];
  }
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  std::vector<int32_t> free(begin_.begin(), begin_.end() - 1);
  arcs_.resize(2 * pairs.size());
  capacity_.assign(arcs_.size(), 0);
  for (const auto& [edge, opposite] : pairs) {
    const int32_t in = free[at(head(edge))]++;
    const int32_t out = free[at(tail(edge))]++;
    arcs_[at(in)] = {tail(edge), out, 0};
    arcs_[at(out)] = {head(edge), in, 0};
    arc_of_[at(edge)] = in;
    if (opposite != kNoEdge) arc_of_[at(opposite)] = out;
  }
}

template <typename Amount>
void MaxFlow<Amount>::set_capacities(std::span<const int64_t> capacities, Amount multiple) {
  clear();
  for (size_t edge = 0; edge < capacities.size(); ++edge) set_capacity(edge, multiple * capacities[edge]);
}

template <typename Amount>
void MaxFlow<Amount>::set_capacity(size_t edge, Amount capacity) {
  const size_t arc = at(arc_of_[edge]);
  capacity_[arc] = capacity;
  arcs_[arc].room = capacity;
}

template <typename Amount>
void MaxFlow<Amount>::set_supply(int32_t node, Amount supply) {
  supply_[at(node)] = supply;
  left_[at(node)] = supply;
}

template <typename Amount>
Amount MaxFlow<Amount>::run(int32_t sink, Amount wanted) {
  Amount added = 0;
  while (added < wanted && find_levels(sink, wanted - added)) added += block(sink, wanted - added);
  return added;
}

template <typename Amount>
void MaxFlow<Amount>::clear() {
  for (int32_t arc : changed_) {
    const size_t mate = at(arcs_[at(arc)].mate);
    arcs_[at(arc)].room = capacity_[at(arc)];
    arcs_[mate].room = capacity_[mate];
  }
  for (int32_t node : supplied_) left_[at(node)] = supply_[at(node)];
  changed_.clear();
  supplied_.clear();
}

template <typename Amount>
Amount MaxFlow<Amount>::flow(size_t edge) const {
  const size_t arc = at(arc_of_[edge]);
  return std::max<Amount>(0, capacity_[arc] - arcs_[arc].room);
}

/// Breadth-first from the sink, until a complete level contains enough supply. False: no supply reaches the
/// sink.
template <typename Amount>
bool MaxFlow<Amount>::find_levels(int32_t sink, Amount wanted) {
  for (int32_t node : reached_) level_[at(node)] = -1;
  reached_.clear();
  bool any = false;
  last_level_ = INT32_MAX;
  const auto reach = [&](int32_t node, int32_t level) {
    level_[at(node)] = level;
    next_[at(node)] = begin_[at(node)];
    reached_.push_back(node);
    const Amount left = left_[at(node)];
    if (left == 0) return;
    any = true;
    if (left == kUnlimited || left >= wanted) {
      last_level_ = level;
    } else if (last_level_ == INT32_MAX) {
      wanted -= left;
    }
  };
  reach(sink, 0);
  for (size_t i = 0; i < reached_.size(); ++i) {
    const int32_t node = reached_[i];
    const int32_t level = level_[at(node)];
    if (level >= last_level_) break;
    for (int32_t arc = begin_[at(node)]; arc < begin_[at(node) + 1]; ++arc) {
      const Arc& in = arcs_[at(arc)];
      if (in.room > 0 && level_[at(in.from)] < 0) reach(in.from, level + 1);
    }
  }
  return any;
}

/// Finds paths from the sink through increasing levels to supplies, until there are none or nothing more is
/// wanted.
template <typename Amount>
Amount MaxFlow<Amount>::block(int32_t sink, Amount wanted) {
  Amount added = 0;
  int32_t node = sink;
  path_.clear();
  while (added < wanted) {
    if (left_[at(node)] != 0) {
      added += augment(node, wanted - added);
      // Continue where the path is still open: at the near end of the first arc that is full.
      const auto full =
          std::find_if(path_.begin(), path_.end(), [&](int32_t arc) { return arcs_[at(arc)].room == 0; });
      if (full != path_.end()) {
        node = arcs_[at(arcs_[at(*full)].mate)].from;
        path_.erase(full, path_.end());
      }
      continue;
    }
    int32_t& next = next_[at(node)];
    const int32_t end = level_[at(node)] < last_level_ ? begin_[at(node) + 1] : next;
    while (next < end &&
           (arcs_[at(next)].room == 0 || level_[at(arcs_[at(next)].from)] != level_[at(node)] + 1))
      ++next;
    if (next < end) {
      path_.push_back(next);
      node = arcs_[at(next)].from;
    } else if (path_.empty()) {
      break;
    } else {
      node = arcs_[at(arcs_[at(path_.back())].mate)].from;
      path_.pop_back();
      ++next_[at(node)];
    }
  }
  return added;
}

/// Sends as much as fits from `source` along the path, but at most `most`.
template <typename Amount>
Amount MaxFlow<Amount>::augment(int32_t source, Amount most) {
  Amount& left = left_[at(source)];
  if (left != kUnlimited) most = std::min(most, left);
  for (int32_t arc : path_) most = std::min(most, arcs_[at(arc)].room);
  if (left != kUnlimited) {
    left -= most;
    supplied_.push_back(source);
  }
  for (int32_t arc : path_) {
    arcs_[at(arc)].room -= most;
    arcs_[at(arcs_[at(arc)].mate)].room += most;
    changed_.push_back(arc);
  }
  return most;
}

template class MaxFlow<int64_t>;
template class MaxFlow<Int128>;

}  // namespace weir::algorithms
