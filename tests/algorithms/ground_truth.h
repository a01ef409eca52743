// SPDX-License-Identifier: Apache-2.0
/// Networks with known optima: machines and clusters that people have, as graphs whose best collective
/// bandwidths were computed exactly. Figures are GB/s and direction; every link is full duplex.
///
/// Sources of the wirings: ForestColl (arXiv 2402.06787), RCCL's and NVIDIA's descriptions of their machines.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/network/network.h"

namespace weir::algorithms {

/// `count` parallel links between two nodes.
struct Wire {
  int a = 0;
  int b = 0;
  int count = 1;
};
using Wires = std::vector<Wire>;

/// Eight MI250 packages of two dies, 0 and 1 being those of the first.
inline const Wires kMi250Sixteen = {
    {0, 1, 4},   {0, 4, 2},   {0, 8, 1},   {1, 5, 1},   {1, 9, 1},   {1, 10, 1},  {2, 3, 4},
    {2, 6, 1},   {2, 9, 1},   {2, 10, 1},  {3, 7, 2},   {3, 11, 1},  {4, 5, 4},   {4, 6, 1},
    {5, 6, 1},   {5, 7, 1},   {6, 7, 4},   {8, 9, 4},   {8, 12, 2},  {9, 13, 1},  {10, 11, 4},
    {10, 14, 1}, {11, 15, 2}, {12, 13, 4}, {12, 14, 1}, {13, 14, 1}, {13, 15, 1}, {14, 15, 4}};
/// Nodes of four MI250 packages: two numberings of one wiring.
inline const Wires kMi250Node66 = {{0, 1, 4}, {0, 4, 2}, {0, 6, 1}, {1, 3, 1}, {1, 7, 1}, {2, 3, 4},
                                   {2, 4, 1}, {2, 6, 2}, {3, 5, 1}, {4, 5, 4}, {5, 7, 1}, {6, 7, 4}};
inline const Wires kMi250Node71 = {{0, 1, 4}, {0, 2, 1}, {0, 6, 2}, {1, 3, 1}, {1, 5, 1}, {2, 3, 4},
                                   {2, 4, 2}, {3, 7, 1}, {4, 5, 4}, {4, 6, 1}, {5, 7, 1}, {6, 7, 4}};
/// The cube mesh of 8 GPUs in DGX-1V.
inline const Wires kDgx1v = {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 3, 1},
                             {1, 5, 2}, {2, 3, 2}, {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1},
                             {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2}};

/// The model of 16 dies and the twisted cube of 8 that RCCL's machine list has, and 8 GPUs of 6 links each.
inline const Wires kRcclSixteen = {{0, 1, 4},   {0, 2, 1},   {0, 4, 2},   {1, 2, 1},  {1, 3, 1},  {1, 5, 1},
                                   {2, 3, 4},   {2, 6, 1},   {3, 7, 2},   {4, 5, 4},  {4, 12, 1}, {5, 13, 1},
                                   {5, 14, 1},  {6, 7, 4},   {6, 13, 1},  {6, 14, 1}, {7, 15, 1}, {8, 9, 4},
                                   {8, 10, 1},  {8, 12, 2},  {9, 10, 1},  {9, 11, 1}, {9, 13, 1}, {10, 11, 4},
                                   {10, 14, 1}, {11, 15, 2}, {12, 13, 4}, {14, 15, 4}};
inline const Wires kRcclTwistedCube = {{0, 1}, {0, 2}, {0, 6}, {1, 3}, {1, 5}, {2, 3},
                                       {2, 4}, {3, 7}, {4, 5}, {4, 6}, {5, 7}, {6, 7}};
inline const Wires kSixLinksEach = {{0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 6}, {0, 7}, {1, 2}, {1, 3},
                                    {1, 5}, {1, 6}, {1, 7}, {2, 3}, {2, 4}, {2, 5}, {2, 6}, {3, 4},
                                    {3, 5}, {3, 7}, {4, 5}, {4, 6}, {4, 7}, {5, 6}, {5, 7}, {6, 7}};

/// Grows a network link by link.
class NetworkBuilder {
 public:
  int32_t rank() {
    network_.rank_nodes.push_back(network_.nodes);
    return network_.nodes++;
  }
  /// The first of `count` new ranks.
  int32_t ranks(int count) {
    const int32_t first = network_.nodes;
    for (int i = 0; i < count; ++i) rank();
    return first;
  }
  int32_t node() { return network_.nodes++; }
  void link(int32_t a, int32_t b, double gb_per_s) {
    const auto capacity = static_cast<int64_t>(gb_per_s / kCapacityUnit + 0.5);
    network_.edges.push_back({a, b, capacity});
    network_.edges.push_back({b, a, capacity});
  }
  /// The wires among the first `ranks` of a machine, whose first rank is node `first`.
  void wire(const Wires& wires, int32_t first, int ranks, double gb_per_s) {
    for (const Wire& wire : wires) {
      if (wire.a < ranks && wire.b < ranks) link(first + wire.a, first + wire.b, wire.count * gb_per_s);
    }
  }
  Network take() { return std::move(network_); }

 private:
  Network network_;
};

/// `ranks` GPUs on one switch.
inline Network star(int ranks, double gb_per_s) {
  NetworkBuilder builder;
  builder.ranks(ranks);
  const int32_t hub = builder.node();
  for (int32_t rank = 0; rank < ranks; ++rank) builder.link(rank, hub, gb_per_s);
  return builder.take();
}

/// Every GPU has a link to every other.
inline Network mesh(int ranks, double gb_per_s) {
  NetworkBuilder builder;
  builder.ranks(ranks);
  for (int32_t a = 0; a < ranks; ++a) {
    for (int32_t b = a + 1; b < ranks; ++b) builder.link(a, b, gb_per_s);
  }
  return builder.take();
}

/// The first `ranks` GPUs of a machine, nothing else.
inline Network part_of(const Wires& wires, int ranks, double gb_per_s) {
  NetworkBuilder builder;
  builder.ranks(ranks);
  builder.wire(wires, 0, ranks, gb_per_s);
  return builder.take();
}

/// Some GPUs of a machine, in the order given.
inline Network part_of(const Wires& wires, const std::vector<int>& chosen, double gb_per_s) {
  NetworkBuilder builder;
  std::vector<int32_t> place(64, -1);
  for (int gpu : chosen) place[static_cast<size_t>(gpu)] = builder.rank();
  for (const Wire& wire : wires) {
    const int32_t a = place[static_cast<size_t>(wire.a)];
    const int32_t b = place[static_cast<size_t>(wire.b)];
    if (a >= 0 && b >= 0) builder.link(a, b, wire.count * gb_per_s);
  }
  return builder.take();
}

/// Boxes of 8 A100; GPU i of each has a NIC to global switch i mod 2.
inline Network a100_boxes(int boxes) {
  NetworkBuilder builder;
  const int32_t spines[2] = {boxes > 1 ? builder.node() : -1, boxes > 1 ? builder.node() : -1};
  for (int box = 0; box < boxes; ++box) {
    const int32_t first = builder.ranks(8);
    const int32_t hub = builder.node();
    for (int32_t gpu = 0; gpu < 8; ++gpu) {
      builder.link(first + gpu, hub, 300);
      if (boxes == 1) continue;
      const int32_t nic = builder.node();
      builder.link(first + gpu, nic, 25);
      builder.link(nic, spines[gpu % 2], 25);
    }
  }
  return builder.take();
}

/// The first `gpus` dies of boxes of 8 MI250; each die has 16 GB/s to one global switch.
inline Network mi250_boxes(int boxes, int gpus) {
  NetworkBuilder builder;
  const int32_t spine = boxes > 1 ? builder.node() : -1;
  for (int box = 0; box < boxes; ++box) {
    const int32_t first = builder.ranks(gpus);
    builder.wire(kMi250Sixteen, first, gpus, 50);
    for (int32_t gpu = 0; boxes > 1 && gpu < gpus; ++gpu) builder.link(first + gpu, spine, 16);
  }
  return builder.take();
}

/// Nodes of four MI250 and two NICs of 25 on one global switch.
inline Network kt_nodes(int nodes) {
  NetworkBuilder builder;
  const int32_t spine = nodes > 1 ? builder.node() : -1;
  for (int node = 0; node < nodes; ++node) {
    const int32_t first = builder.ranks(8);
    builder.wire(kMi250Node66, first, 8, 50);
    for (int nic = 0; nodes > 1 && nic < 2; ++nic) {
      const int32_t adapter = builder.node();
      builder.link(adapter, spine, 25);
      for (int32_t gpu = 0; gpu < 4; ++gpu) builder.link(first + nic * 4 + gpu, adapter, 32);
    }
  }
  return builder.take();
}

/// Boxes of some GPUs each on a switch of 300. Every GPU has 25 to one global switch; or, with a shared NIC,
/// 300 to its host, which has 25.
inline Network uneven_boxes(const std::vector<int>& gpus, bool shared_nic) {
  NetworkBuilder builder;
  const int32_t spine = builder.node();
  for (int count : gpus) {
    const int32_t first = builder.ranks(count);
    const int32_t hub = builder.node();
    const int32_t host = shared_nic ? builder.node() : -1;
    if (shared_nic) builder.link(host, spine, 25);
    for (int32_t gpu = first; gpu < first + count; ++gpu) {
      builder.link(gpu, hub, 300);
      builder.link(gpu, shared_nic ? host : spine, shared_nic ? 300 : 25);
    }
  }
  return builder.take();
}

/// A cluster of equal nodes below leaf switches and one spine.
struct LeafSpine {
  int nodes = 1;
  int gpus = 8;            ///< of a node
  double nvswitch = 0;     ///< of each GPU to its node's switch; 0: the first dies of 8 MI250, 50 per link
  int nics = 1;            ///< of a node; GPU i uses NIC i * nics / gpus
  double nic = 25;         ///< of a NIC to its leaf
  double pcie = 50;        ///< of a GPU to its NIC
  int nodes_per_leaf = 1;  ///< the last group may have fewer
  double uplink = 0;       ///< of a leaf to the spine; 0: there is no spine
  bool rail = false;       ///< NIC j is on leaf j of its group; else a group has one leaf
};

inline Network leaf_spine(const LeafSpine& plan) {
  NetworkBuilder builder;
  const int32_t spine = plan.uplink > 0 ? builder.node() : -1;
  std::vector<int32_t> leaves;
  for (int node = 0; node < plan.nodes; ++node) {
    if (node % plan.nodes_per_leaf == 0) {
      leaves.assign(plan.rail ? static_cast<size_t>(plan.nics) : 1, -1);
      for (int32_t& leaf : leaves) {
        leaf = builder.node();
        if (plan.uplink > 0) builder.link(leaf, spine, plan.uplink);
      }
    }
    const int32_t first = builder.ranks(plan.gpus);
    const int32_t hub = plan.nvswitch > 0 ? builder.node() : -1;
    if (hub < 0) builder.wire(kMi250Sixteen, first, plan.gpus, 50);
    const int32_t nics = static_cast<int32_t>(plan.nics);
    std::vector<int32_t> adapters;
    for (int32_t nic = 0; nic < nics; ++nic) {
      adapters.push_back(builder.node());
      builder.link(adapters.back(), leaves[plan.rail ? static_cast<size_t>(nic) : 0], plan.nic);
    }
    for (int32_t gpu = 0; gpu < plan.gpus; ++gpu) {
      if (hub >= 0) builder.link(first + gpu, hub, plan.nvswitch);
      builder.link(first + gpu, adapters[static_cast<size_t>(gpu * nics / plan.gpus)], plan.pcie);
    }
  }
  return builder.take();
}

/// A fraction of GB/s.
struct Exactly {
  int64_t numerator = 0;
  int64_t denominator = 1;
};

/// The best all-gather: `each` is what every rank's block flows with; the whole has ranks times that. A
/// reduce-scatter is as fast on all of them.
struct AllGatherTruth {
  std::string name;
  std::function<Network()> network;
  int ranks = 0;
  Exactly each;
  int trees_per_root = 0;  ///< the least that reach it; 0: not known
};

inline std::vector<AllGatherTruth> all_gather_truths() {
  return {
      {"A100 x1", [] { return a100_boxes(1); }, 8, {300, 7}, 1},
      {"A100 x2", [] { return a100_boxes(2); }, 16, {65, 3}, 13},
      {"A100 x3", [] { return a100_boxes(3); }, 24, {25, 2}, 1},
      {"A100 x4", [] { return a100_boxes(4); }, 32, {25, 3}, 1},
      {"A100 x8", [] { return a100_boxes(8); }, 64, {25, 7}, 1},
      {"A100 x16", [] { return a100_boxes(16); }, 128, {5, 3}, 1},
      {"A100 x32", [] { return a100_boxes(32); }, 256, {25, 31}, 1},
      {"A100 x128", [] { return a100_boxes(128); }, 1024, {25, 127}, 0},
      {"A100 x256", [] { return a100_boxes(256); }, 2048, {5, 51}, 0},
      {"MI250-16 x1", [] { return mi250_boxes(1, 16); }, 16, {150, 7}, 3},
      {"MI250-16 x2", [] { return mi250_boxes(2, 16); }, 32, {166, 15}, 83},
      {"MI250-16 x3", [] { return mi250_boxes(3, 16); }, 48, {166, 23}, 83},
      {"MI250-16 x4", [] { return mi250_boxes(4, 16); }, 64, {16, 3}, 8},
      {"MI250-16 x8", [] { return mi250_boxes(8, 16); }, 128, {16, 7}, 0},
      {"MI250 8-of-16 x1", [] { return mi250_boxes(1, 8); }, 8, {25, 1}, 1},
      {"MI250 8+8", [] { return mi250_boxes(2, 8); }, 16, {13, 1}, 13},
      {"MI250 8+8+8", [] { return mi250_boxes(3, 8); }, 24, {8, 1}, 4},
      {"MI250 8x4", [] { return mi250_boxes(4, 8); }, 32, {16, 3}, 8},
      {"MI250 8x8", [] { return mi250_boxes(8, 8); }, 64, {16, 7}, 0},
      {"4xMI250 node", [] { return part_of(kMi250Node66, 8, 50); }, 8, {125, 3}, 5},
      {"4xMI250 node, other numbers", [] { return part_of(kMi250Node71, 8, 50); }, 8, {125, 3}, 5},
      {"KT node x2", [] { return kt_nodes(2); }, 16, {25, 4}, 0},
      {"KT node x3", [] { return kt_nodes(3); }, 24, {25, 8}, 0},
      {"DGX-1V", [] { return part_of(kDgx1v, 8, 25); }, 8, {150, 7}, 6},
      {"DGX-2", [] { return star(16, 150); }, 16, {10, 1}, 0},
      {"A100x4 mesh", [] { return mesh(4, 100); }, 4, {100, 1}, 1},
      {"H100", [] { return star(8, 450); }, 8, {450, 7}, 0},
  };
}

/// Clusters of hundreds of nodes.
inline std::vector<AllGatherTruth> cluster_truths() {
  const auto cluster = [](const LeafSpine& plan) { return [plan] { return leaf_spine(plan); }; };
  const auto kt40 = [&](int per_leaf, double ratio) {
    return cluster({40, 8, 0, 2, 25, 50, per_leaf, per_leaf * 50 / ratio, false});
  };
  return {
      {"KT 40, leaves of 20, 1:1", kt40(20, 1), 320, {25, 156}},
      {"KT 40, leaves of 20, 2:1", kt40(20, 2), 320, {25, 156}},
      {"KT 40, leaves of 20, 4:1", kt40(20, 4), 320, {25, 156}},
      {"KT 40, leaves of 10, 1:1", kt40(10, 1), 320, {25, 156}},
      {"KT 40, leaves of 10, 2:1", kt40(10, 2), 320, {25, 156}},
      {"KT 40, leaves of 10, 4:1", kt40(10, 4), 320, {25, 156}},
      {"KT 300, 2:1", cluster({300, 8, 0, 2, 25, 50, 20, 500, false}), 2400, {25, 1196}},
      {"SuperPOD 20", cluster({20, 8, 300, 8, 25, 25, 20, 0, true}), 160, {25, 19}},
      {"SuperPOD 40", cluster({40, 8, 300, 8, 25, 25, 20, 500, true}), 320, {25, 39}},
      {"SuperPOD 140, 1:1", cluster({140, 8, 300, 8, 25, 25, 20, 500, true}), 1120, {25, 139}},
      {"SuperPOD 140, 4:1", cluster({140, 8, 300, 8, 25, 25, 20, 125, true}), 1120, {25, 139}},
      {"Vela 200", cluster({200, 8, 300, 2, 12, 32, 6, 100, true}), 1600, {3, 199}},
      {"Vela 200, usable", cluster({200, 8, 300, 1, 15, 60, 6, 100, true}), 1600, {15, 1592}},
      {"NSML 16", cluster({16, 8, 300, 4, 25, 50, 8, 200, true}), 128, {5, 6}},
  };
}

/// All-reduces, M / T: by a reduce-scatter and an all-gather of equal blocks; by the best trees with roots as
/// they like; and with switches that copy and reduce (0: not known).
struct AllReduceTruth {
  std::string name;
  std::function<Network()> network;
  Exactly equal_blocks;
  Exactly free_roots;
  Exactly in_switch;
};

inline std::vector<AllReduceTruth> all_reduce_truths() {
  const auto dgx1v = [](const std::vector<int>& gpus) {
    return [gpus] { return part_of(kDgx1v, gpus, 25); };
  };
  const auto mi250 = [](int gpus) { return [gpus] { return mi250_boxes(1, gpus); }; };
  const auto node71 = [](const std::vector<int>& gpus) {
    return [gpus] { return part_of(kMi250Node71, gpus, 50); };
  };
  const auto boxes = [](const std::vector<int>& gpus, bool shared_nic) {
    return [gpus, shared_nic] { return uneven_boxes(gpus, shared_nic); };
  };
  return {
      {"A100 x1", [] { return a100_boxes(1); }, {1200, 7}, {1200, 7}, {300, 1}},
      {"A100 x2", [] { return a100_boxes(2); }, {520, 3}, {520, 3}, {200, 1}},
      {"A100 x3", [] { return a100_boxes(3); }, {150, 1}, {150, 1}, {0, 1}},
      {"MI250-16 x1", mi250(16), {1200, 7}, {1200, 7}, {1200, 7}},
      {"MI250-16 x2", [] { return mi250_boxes(2, 16); }, {2656, 15}, {2656, 15}, {0, 1}},
      {"KT node x1", [] { return kt_nodes(1); }, {500, 3}, {500, 3}, {0, 1}},
      {"KT node x2", [] { return kt_nodes(2); }, {50, 1}, {50, 1}, {0, 1}},
      {"KT node x3", [] { return kt_nodes(3); }, {75, 2}, {75, 2}, {0, 1}},
      {"DGX-1V", dgx1v({0, 1, 2, 3, 4, 5, 6, 7}), {600, 7}, {600, 7}, {600, 7}},
      {"DGX-1V 0-3", dgx1v({0, 1, 2, 3}), {200, 3}, {75, 1}, {75, 1}},
      {"DGX-1V 0-4", dgx1v({0, 1, 2, 3, 4}), {125, 4}, {50, 1}, {50, 1}},
      {"DGX-1V 0-5", dgx1v({0, 1, 2, 3, 4, 5}), {45, 1}, {125, 2}, {125, 2}},
      {"DGX-1V 0,1,4-7", dgx1v({0, 1, 4, 5, 6, 7}), {45, 1}, {125, 2}, {125, 2}},
      {"DGX-1V 0-6", dgx1v({0, 1, 2, 3, 4, 5, 6}), {175, 3}, {75, 1}, {75, 1}},
      {"MI250 2-of-16", mi250(2), {200, 1}, {200, 1}, {200, 1}},
      {"MI250 8-of-16", mi250(8), {100, 1}, {150, 1}, {150, 1}},
      {"MI250 10-of-16", mi250(10), {375, 4}, {150, 1}, {150, 1}},
      {"MI250 12-of-16", mi250(12), {90, 1}, {150, 1}, {150, 1}},
      {"MI250 14-of-16", mi250(14), {175, 2}, {150, 1}, {150, 1}},
      {"MI250 8+8", [] { return mi250_boxes(2, 8); }, {104, 1}, {128, 1}, {128, 1}},
      {"4xMI250 node 0-3", node71({0, 1, 2, 3}), {100, 1}, {100, 1}, {0, 1}},
      {"4xMI250 node 0-4", node71({0, 1, 2, 3, 4}), {125, 2}, {100, 1}, {0, 1}},
      {"4xMI250 node 0-4, other numbers",
       [] { return part_of(kMi250Node66, 5, 50); },
       {250, 3},
       {100, 1},
       {0, 1}},
      {"4xMI250 node 0-5", node71({0, 1, 2, 3, 4, 5}), {225, 2}, {125, 1}, {0, 1}},
      {"4xMI250 node 0-6", node71({0, 1, 2, 3, 4, 5, 6}), {175, 2}, {400, 3}, {0, 1}},
      {"4xMI250 node 0,2,4,6", node71({0, 2, 4, 6}), {100, 1}, {100, 1}, {0, 1}},
      {"boxes 8,8", boxes({8, 8}, false), {520, 3}, {520, 3}, {200, 1}},
      {"boxes 8,4", boxes({8, 4}, false), {75, 1}, {100, 1}, {100, 1}},
      {"boxes 8,2", boxes({8, 2}, false), {125, 4}, {50, 1}, {50, 1}},
      {"boxes 8,1", boxes({8, 1}, false), {225, 16}, {25, 1}, {25, 1}},
      {"boxes 4,2,2", boxes({4, 2, 2}, false), {100, 3}, {50, 1}, {50, 1}},
      {"boxes 8,4,4", boxes({8, 4, 4}, false), {200, 3}, {100, 1}, {100, 1}},
      {"boxes 8,8,8", boxes({8, 8, 8}, false), {150, 1}, {150, 1}, {200, 1}},
      {"boxes 8,8, shared NIC", boxes({8, 8}, true), {25, 1}, {25, 1}, {25, 1}},
      {"boxes 8,4, shared NIC", boxes({8, 4}, true), {75, 4}, {25, 1}, {25, 1}},
      {"boxes 8,2, shared NIC", boxes({8, 2}, true), {125, 8}, {25, 1}, {25, 1}},
      {"boxes 8,1, shared NIC", boxes({8, 1}, true), {225, 16}, {25, 1}, {25, 1}},
      {"boxes 4,2,2, shared NIC", boxes({4, 2, 2}, true), {50, 3}, {75, 4}, {25, 1}},
      {"boxes 8,4,4, shared NIC", boxes({8, 4, 4}, true), {50, 3}, {75, 4}, {25, 1}},
      {"boxes 8,8,8, shared NIC", boxes({8, 8, 8}, true), {75, 4}, {75, 4}, {25, 1}},
  };
}

/// Busbw on one host, in links: of the rings that RCCL's list of machines has for it (model values), and the
/// narrowest cut, over the links between GPUs alone.
struct RingTruth {
  std::string name;
  std::function<Network()> network;
  Exactly by_hand;
  Exactly cut;
};

inline std::vector<RingTruth> ring_truths() {
  return {
      {"B66", [] { return part_of(kMi250Node66, 8, 1); }, {4, 1}, {35, 6}},
      {"B71", [] { return part_of(kMi250Node71, 8, 1); }, {4, 1}, {35, 6}},
      {"K8", [] { return mesh(8, 1); }, {7, 1}, {7, 1}},
      {"K4", [] { return mesh(4, 2); }, {6, 1}, {6, 1}},
      {"F", [] { return part_of(kRcclSixteen, 16, 1); }, {6, 1}, {45, 7}},
      {"W", [] { return part_of(kRcclTwistedCube, 8, 1); }, {2, 1}, {3, 1}},
      {"six links each", [] { return part_of(kSixLinksEach, 8, 1); }, {6, 1}, {6, 1}},
  };
}

}  // namespace weir::algorithms
