// SPDX-License-Identifier: Apache-2.0
/// The C functions of weir/bound.h.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "src/base/index.h"
#include "src/base/types.h"
#include "src/planner_api/bound_object.h"

namespace weir::planner_api {
namespace {

using algorithms::Network;
using algorithms::Whole;
using topology::Graph;
using topology::Index;

static_assert(static_cast<int>(Witness::nothing) == static_cast<int>(algorithms::Witness::nothing));
static_assert(static_cast<int>(Witness::into) == static_cast<int>(algorithms::Witness::into));
static_assert(static_cast<int>(Witness::out_of) == static_cast<int>(algorithms::Witness::out_of));
static_assert(static_cast<int>(Witness::between) == static_cast<int>(algorithms::Witness::between));

bool fits(const Whole& number) { return number <= std::numeric_limits<int64_t>::max(); }

/// The links that enter nodes, or that leave them, by node.
class LinksAt {
 public:
  LinksAt(const Graph& graph, bool into) : links_(at(graph.size())) {
    for (size_t link = 0; link < graph.links().size(); ++link) {
      const Index end = into ? graph.links()[link].to : graph.links()[link].from;
      links_[at(end)].push_back(static_cast<int>(link));
    }
  }
  const std::vector<int>& operator[](Index node) const { return links_[at(node)]; }

 private:
  std::vector<std::vector<int>> links_;
};

}  // namespace

void ExactFraction::set(const algorithms::Rational& number) {
  const Whole above = boost::multiprecision::numerator(number),
              below = boost::multiprecision::denominator(number);
  const bool exact = fits(above) && fits(below);
  numerator_ = exact ? above.convert_to<int64_t>() : 0;
  denominator_ = exact ? below.convert_to<int64_t>() : 0;
  value_ = number.convert_to<double>();
  text_ = number.str();
}

algorithms::Rational seconds_per_gb(const algorithms::Rational& time) {
  constexpr int kUnitsPerGb = 1'000'000;
  static_assert(kUnitsPerGb * algorithms::kCapacityUnit == 1);
  return time * kUnitsPerGb;
}

Result<DeviceNetwork> request_of(const weirTopology* handle, Collective collective,
                                 std::span<const int> devices) {
  const auto object = topology_of(handle);
  WEIR_TRY(object.status());
  if (static_cast<int>(collective) >= kCollectives) {
    return Status(Code::invalid_argument, fmt::format("the collective is number {}; expected 0 to {}",
                                                      static_cast<int>(collective), kCollectives - 1));
  }
  const List<int> all = (*object)->devices;
  std::vector<Index> nodes;
  for (const int device : devices) {
    if (device < 0 || at(device) >= all.size()) {
      const std::string known = all.empty() ? "none" : fmt::format("devices 0 to {}", all.size() - 1);
      return Status(Code::invalid_argument,
                    fmt::format("there is no device {}; the topology has {}", device, known));
    }
    nodes.push_back(all[at(device)]);
  }
  if (devices.empty()) nodes.assign(all.begin(), all.end());
  auto network = algorithms::network_of((*object)->graph(), nodes);
  WEIR_TRY(network.status());
  return DeviceNetwork{*object, std::move(*network)};
}

BoundObject::BoundObject(const algorithms::Bound& bound, const DeviceNetwork& request) {
  const Graph& graph = request.topology->graph();
  collective = bound.collective;
  witness = static_cast<Witness>(bound.witness);
  root = bound.root;
  ranks = request.network.ranks();
  time_.set(planner_api::seconds_per_gb(algorithms::exactly(bound.time)));
  seconds_per_gb = time_.fraction();
  sentence_text_ = algorithms::explain(bound, request.network, graph);
  sentence = sentence_text_.c_str();
  fill_cuts(algorithms::outside_devices(bound, request.network, graph), request);
}

void BoundObject::fill_cuts(const algorithms::Bound& bound, const DeviceNetwork& request) {
  const Graph& graph = request.topology->graph();
  const bool into = bound.witness != algorithms::Witness::out_of;
  const LinksAt links(graph, into);
  // Which set a node was last seen in; what is not in the network is in none and outside of all.
  constexpr int kOutside = -1, kNowhere = -2;
  std::vector<int> set_of(at(graph.size()), kNowhere);
  for (const Index node : request.network.origin) set_of[at(node)] = kOutside;
  for (const auto& [node, part_of] : request.network.others) set_of[at(node)] = kOutside;
  for (size_t set = 0; set < bound.sets.size(); ++set) {
    CutLists& lists = cut_lists_.emplace_back();
    for (const int32_t node : bound.sets[set]) {
      lists.nodes.push_back(request.network.origin[at(node)]);
      for (const auto& [other, part_of] : request.network.others) {
        if (part_of == node) lists.nodes.push_back(other);
      }
    }
    for (const int node : lists.nodes) set_of[at(node)] = static_cast<int>(set);
    std::sort(lists.nodes.begin(), lists.nodes.end());
    for (const Index node : lists.nodes) {
      for (const int link : links[node]) {
        const topology::Link& each = graph.links()[at(link)];
        const int far = set_of[at(into ? each.from : each.to)];
        if (far != kNowhere && far != static_cast<int>(set)) lists.links.push_back(link);
      }
    }
    std::sort(lists.links.begin(), lists.links.end());
  }
  for (const CutLists& lists : cut_lists_) {
    double gb_per_s = 0;
    for (const int link : lists.links) gb_per_s += graph.links()[at(link)].gb_per_s;
    cut_list_.push_back(
        {{lists.nodes.data(), lists.nodes.size()}, {lists.links.data(), lists.links.size()}, gb_per_s});
  }
  cuts = {cut_list_.data(), cut_list_.size()};
}

namespace {

Result<std::unique_ptr<BoundObject>> find_bound(const weirTopology* topology, Collective collective, int root,
                                                std::span<const int> devices) {
  const auto request = request_of(topology, collective, devices);
  WEIR_TRY(request.status());
  const auto bound = algorithms::lower_bound(request->network, collective, root);
  WEIR_TRY(bound.status());
  WEIR_TRY(algorithms::check_bound(request->network, *bound));
  return std::make_unique<BoundObject>(*bound, *request);
}

}  // namespace
}  // namespace weir::planner_api

const weirBound* weirBoundFind(const weirTopology* topology, weir::Collective collective, int root,
                               const int* devices, size_t count, weirTextSink error, void* keeper) {
  return weir::planner_api::release(
      weir::planner_api::find_bound(topology, collective, root, {devices, devices == nullptr ? 0 : count}),
      error, keeper);
}

void weirBoundFree(const weirBound* bound) {
  delete static_cast<const weir::planner_api::BoundObject*>(bound);
}
