// SPDX-License-Identifier: Apache-2.0

#include "trainer/parallel/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

namespace weir::parallel {
namespace {

/// The ranks that have the slices of one stage, in the order of the slices.
using Slices = std::vector<int>;

/// The slice groups of each leaf, host by host.
Result<std::map<int, std::vector<Slices>>> slices_by_leaf(const std::vector<weirPlace_t>& places,
                                                          size_t slices) {
  std::map<int, std::vector<int>> ranks_of;  // key: host
  for (size_t rank = 0; rank < places.size(); ++rank)
    ranks_of[places[rank].host].push_back(static_cast<int>(rank));
  std::map<int, std::vector<Slices>> found;
  for (const auto& [host, ranks] : ranks_of) {
    if (ranks.size() % slices != 0)
      return Status(Code::invalid_argument,
                    fmt::format("the {} ranks on the host of rank {} cannot be divided into groups of {} "
                                "slices; expected a number of slices that divides the number of ranks on "
                                "every host: slices communicate too much to be on different hosts",
                                ranks.size(), ranks.front(), slices));
    const int leaf = places[static_cast<size_t>(ranks.front())].leaf;
    for (auto first = ranks.begin(); first != ranks.end(); first += static_cast<ptrdiff_t>(slices))
      found[leaf].emplace_back(first, first + static_cast<ptrdiff_t>(slices));
  }
  return found;
}

}  // namespace

Result<Grid> make_grid(const std::vector<weirPlace_t>& places, const Shape& shape) {
  const size_t ranks = places.size();
  if (shape.stages < 1 || shape.slices < 1 || ranks % static_cast<size_t>(shape.parts()) != 0)
    return Status(Code::invalid_argument,
                  fmt::format("a model in {} parts ({} stages, {} slices) needs a number of ranks that is a "
                              "multiple of this; there are {} ranks",
                              shape.parts(), shape.stages, shape.slices, ranks));
  auto by_leaf = slices_by_leaf(places, static_cast<size_t>(shape.slices));
  if (!by_leaf.ok()) return by_leaf.status();
  std::vector<Slices> replicas;  // the ranks of all replicas, stage by stage
  std::vector<Slices> left;      // slice groups of leaves that cannot form another whole replica
  const auto append = [&](auto first, size_t stages) {
    Slices& replica = replicas.emplace_back();
    for (size_t stage = 0; stage < stages; ++stage, ++first)
      replica.insert(replica.end(), first->begin(), first->end());
  };
  const auto stages = static_cast<size_t>(shape.stages);
  for (const auto& [leaf, groups] : *by_leaf) {
    const size_t whole = groups.size() / stages * stages;
    for (size_t at = 0; at < whole; at += stages) append(groups.begin() + static_cast<ptrdiff_t>(at), stages);
    left.insert(left.end(), groups.begin() + static_cast<ptrdiff_t>(whole), groups.end());
  }
  Grid grid{std::vector<GridPosition>(ranks), static_cast<int>(left.size() / stages)};
  for (size_t at = 0; at < left.size(); at += stages)
    append(left.begin() + static_cast<ptrdiff_t>(at), stages);
  std::ranges::sort(replicas, {}, [](const Slices& replica) { return std::ranges::min(replica); });
  for (size_t replica = 0; replica < replicas.size(); ++replica)
    for (int part = 0; part < shape.parts(); ++part)
      grid.grid_positions[static_cast<size_t>(replicas[replica][static_cast<size_t>(part)])] = {
          static_cast<int>(replica), part / shape.slices, part % shape.slices};
  return grid;
}

Result<std::vector<UnitRange>> balance(const std::vector<double>& costs, int stages) {
  const size_t units = costs.size(), parts = static_cast<size_t>(std::max(stages, 0));
  if (parts < 1 || parts > units)
    return Status(
        Code::invalid_argument,
        fmt::format("{} units cannot be cut into {} stages; expected 1 to {}", units, stages, units));
  // least[part][end]: the smallest possible cost of the costliest of part + 1 runs over the units before
  // `end`; cut[part][end]: the first unit of the last of these runs.
  const double never = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> least(parts, std::vector<double>(units + 1, never));
  std::vector<std::vector<size_t>> cut(parts, std::vector<size_t>(units + 1));
  for (size_t part = 0; part < parts; ++part)
    for (size_t end = part + 1; end <= units; ++end) {
      double run = 0;
      for (size_t first = end; first-- > part;) {
        run += costs[first];
        if (part == 0 && first > 0) continue;
        const double most = part == 0 ? run : std::max(run, least[part - 1][first]);
        if (most < least[part][end]) {
          least[part][end] = most;
          cut[part][end] = first;
        }
      }
    }
  std::vector<UnitRange> ranges(parts);
  for (size_t part = parts, end = units; part-- > 0; end = ranges[part].first)
    ranges[part] = {cut[part][end], end};
  return ranges;
}

}  // namespace weir::parallel
