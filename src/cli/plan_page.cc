// SPDX-License-Identifier: Apache-2.0

#include "src/cli/plan_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "src/base/text.h"
#include "topology/views/html.h"
#include "topology/views/svg.h"

namespace weir::cli {
namespace {

using algorithms::CollectivePlan;
using algorithms::Packing;
using algorithms::Tree;
using algorithms::TreeEdge;
using topology::NodeKind;

constexpr double kPitch = 26, kLevel = 36, kBox = 20, kTitle = 30, kGap = 40, kMargin = 28;
constexpr double kMostWidth = 1480;

/// One tree: positions of its ranks, in pixels from its corner.
class TreeDrawing {
 public:
  TreeDrawing(const Tree& tree, int ranks)
      : tree_(tree), children_(static_cast<size_t>(ranks)), spots_(children_.size()) {
    for (const TreeEdge& edge : tree.edges) children_[at(edge.from)].push_back(edge.to);
    place(tree.root, 0);
    for (const TreeEdge& edge : tree.edges) depth_ = std::max(depth_, spots_[at(edge.to)].depth);
  }

  double width() const { return std::max(columns_ * kPitch, 110.0); }
  double height() const { return kTitle + depth_ * kLevel + kBox; }

  /// `host`: the host of each rank.
  void draw(double x, double y, const std::vector<topology::Index>& host, std::string& svg) const {
    const auto out = std::back_inserter(svg);
    fmt::format_to(
        out, "<text class=\"strong\" x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"12\">rank {}{}</text>\n", x,
        y + 12, tree_.root, tree_.multiplicity == 1 ? "" : fmt::format(" \xc3\x97 {}", tree_.multiplicity));
    for (const TreeEdge& edge : tree_.edges) {
      const Spot &from = spots_[at(edge.from)], &to = spots_[at(edge.to)];
      const double x1 = x + from.x, y1 = y + top(from) + kBox, x2 = x + to.x, y2 = y + top(to),
                   bend = (y2 - y1) / 2;
      fmt::format_to(out,
                     "<g class=\"wire\"><path class=\"{}\" stroke-width=\"1.6\" d=\"M{:.1f} {:.1f}C{:.1f} "
                     "{:.1f} {:.1f} {:.1f} {:.1f} {:.1f}\"/></g>\n",
                     host[at(edge.from)] == host[at(edge.to)] ? "nvlink" : "cable", x1, y1, x1, y1 + bend, x2,
                     y2 - bend, x2, y2);
    }
    box(tree_.root, x, y, svg);
    for (const TreeEdge& edge : tree_.edges) box(edge.to, x, y, svg);
  }

 private:
  struct Spot {
    double x = 0;
    int depth = 0;
  };

  static size_t at(Rank rank) { return static_cast<size_t>(rank); }
  static double top(const Spot& spot) { return kTitle - 10 + spot.depth * kLevel; }

  /// Places leaves side by side, and each other rank above the middle of its children. Recursion depth is at
  /// most the number of ranks.
  void place(Rank rank, int depth) {
    Spot& spot = spots_[at(rank)];
    spot.depth = depth;
    const std::vector<Rank>& below = children_[at(rank)];
    if (below.empty()) {
      spot.x = (columns_++ + 0.5) * kPitch;
      return;
    }
    for (const Rank child : below) place(child, depth + 1);
    spot.x = (spots_[at(below.front())].x + spots_[at(below.back())].x) / 2;
  }

  void box(Rank rank, double x, double y, std::string& svg) const {
    const Spot& spot = spots_[at(rank)];
    const double wide = rank > 99 ? 24 : kBox;
    fmt::format_to(
        std::back_inserter(svg),
        "<g class=\"box\"><rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" rx=\"5\"/>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"10\" text-anchor=\"middle\">{}</text></g>\n",
        rank == tree_.root ? "switch" : "gpu", x + spot.x - wide / 2, y + top(spot), wide, kBox, x + spot.x,
        y + top(spot) + 14, rank);
  }

  const Tree& tree_;
  std::vector<std::vector<Rank>> children_;
  std::vector<Spot> spots_;
  int columns_ = 0;
  int depth_ = 0;
};

std::vector<topology::Index> hosts_of_ranks(const PlanTask& task) {
  std::vector<topology::Index> hosts;
  for (const int32_t node : task.network.rank_nodes) {
    const topology::Index device = task.network.origin[static_cast<size_t>(node)];
    hosts.push_back(task.graph.holder(device, NodeKind::host));
  }
  return hosts;
}

topology::LinkTraffic traffic_of(const PlanTask& task, const algorithms::BestPlan& plan) {
  topology::LinkTraffic traffic{std::vector<double>(task.graph.links().size())};
  for (size_t e = 0; e < plan.edge_bytes.size(); ++e) {
    const int32_t link = task.network.edges[e].link;
    if (link >= 0) traffic.bytes[static_cast<size_t>(link)] += plan.edge_bytes[e];
  }
  return traffic;
}

std::string section(const char* heading, const Packing& packing, const std::vector<topology::Index>& hosts) {
  return fmt::format("<section>\n<h2>{}</h2>\n<div class=\"sheet\">\n{}</div>\n</section>\n", heading,
                     trees_svg(packing, hosts));
}

/// Trees over all ranks, or of the first kind of host; empty if the plan has no trees.
std::string pictures(const PlanTask& task, const algorithms::BestPlan& best) {
  if (best.trees() == nullptr) return "";
  const CollectivePlan& plan = *best.trees();
  std::string text;
  if (plan.trees.has_value()) {
    const std::vector<topology::Index> hosts = hosts_of_ranks(task);
    if (plan.trees->up.has_value()) text += section("Trees that reduce", plan.trees->up->packing, hosts);
    if (plan.trees->down.has_value())
      text += section("Trees that broadcast", plan.trees->down->packing, hosts);
    return text;
  }
  for (const bool up : {true, false}) {
    const auto& half = up ? plan.up : plan.down;
    if (!half.has_value()) continue;
    const algorithms::HostShape& shape = half->plan.shapes[0];
    const std::vector<topology::Index> hosts(static_cast<size_t>(shape.network.ranks()), 0);
    text += section(up ? "Trees that reduce inside a host" : "Trees that broadcast inside a host", shape.own,
                    hosts);
  }
  return text;
}

}  // namespace

std::string trees_svg(const Packing& packing, const std::vector<topology::Index>& hosts) {
  std::string body;
  double x = kMargin, y = kMargin, row = 0, right = 0;
  const size_t drawn = std::min(packing.trees.size(), kDrawnTrees);
  for (size_t t = 0; t < drawn; ++t) {
    const TreeDrawing tree(packing.trees[t], static_cast<int>(hosts.size()));
    if (x > kMargin && x + tree.width() > kMostWidth) {
      x = kMargin;
      y += row + kGap;
      row = 0;
    }
    tree.draw(x, y, hosts, body);
    x += tree.width() + kGap;
    right = std::max(right, x - kGap);
    row = std::max(row, tree.height());
  }
  y += row + kGap;
  if (drawn < packing.trees.size())
    body += fmt::format("<text class=\"muted\" x=\"{}\" y=\"{:.1f}\" font-size=\"12\">and {} more</text>\n",
                        kMargin, y - 8, packing.trees.size() - drawn);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"topology\" role=\"img\" viewBox=\"0 0 {0:.0f} "
      "{1:.0f}\" "
      "width=\"{0:.0f}\" height=\"{1:.0f}\">\n<title>spanning trees</title>\n{2}</svg>\n",
      right + kMargin, y, body);
}

std::string plan_svg(const PlanTask& task, const algorithms::BestPlan& plan) {
  const std::vector<topology::Index> hosts = task.graph.all(NodeKind::host);
  const topology::LinkTraffic traffic = traffic_of(task, plan);
  const bool alone = hosts.size() == 1 && task.graph.all(NodeKind::fabric_switch).empty();
  return alone ? topology::svg_of_host(task.graph, hosts[0], traffic)
               : topology::svg_of_fabric(task.graph, traffic);
}

std::string plan_html(const PlanTask& task, const algorithms::BestPlan& plan,
                      std::vector<std::pair<std::string, std::string>> numbers,
                      std::vector<std::string> sentences) {
  topology::TopologyPage content;
  content.title = fmt::format("{} over {}", name(task.collective), plural(task.network.ranks(), "rank"));
  content.numbers = std::move(numbers);
  content.sentences = std::move(sentences);
  content.traffic = traffic_of(task, plan);
  content.picture = pictures(task, plan);
  return topology::html_of(task.graph, content);
}

}  // namespace weir::cli
