// SPDX-License-Identifier: Apache-2.0
// Detection from the trees that AMD's kernel driver shows.
#include <fmt/format.h>

#include "tests/topology/detection.h"
#include "topology/model/derive.h"
#include "topology/model/paths.h"

namespace weir::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr int kPcie = 2, kXgmi = 11;
constexpr int kGfx942 = 90402, kGfx90a = 90010;

class DetectionOfAmd : public Detection {
 protected:
  static constexpr const char* kNodes = "/root/sys/class/kfd/kfd/topology/nodes";

  void put_processor(int node) {
    put(fmt::format("{}/{}/properties", kNodes, node), "cpu_cores_count 96\nsimd_count 0\nlocation_id 0");
    put(fmt::format("/root/sys/devices/system/node/node{}/cpumap", node), "ff");
  }
  void put_gpu(int node, int version, int simds, int location) {
    put(fmt::format("{}/{}/properties", kNodes, node),
        fmt::format("cpu_cores_count 0\nsimd_count {}\nsimd_per_cu 4\ngfx_target_version {}\nvendor_id 4098\n"
                    "device_id 29857\nlocation_id {}\ndomain 0",
                    simds, version, location));
  }
  void put_link(int from, int to, int type, int weight, int least = 0, int most = 0,
                const char* kind = "io_links") {
    put(fmt::format("{}/{}/{}/{}/properties", kNodes, from, kind, to),
        fmt::format("type {}\nversion_major 0\nnode_from {}\nnode_to {}\nweight {}\nmin_bandwidth {}\n"
                    "max_bandwidth {}\nflags 1",
                    type, from, to, weight, least, most));
  }

  /// MI300X behind one processor, each in as many partitions: 13 inside, 41 across, as the driver weighs.
  void put_mi300x(int packages, int partitions, const char* mode, int without = -1) {
    put_processor(0);
    const int all = packages * partitions;
    for (int i = 0; i < all; ++i) {
      if (i == without) continue;
      const int package = i / partitions;
      put_gpu(i + 1, kGfx942, 1216 / partitions, (0x05 + 0x22 * package) << 8 | i % partitions);
      put_link(i + 1, 0, kPcie, 20, 0, 64000);
      for (int peer = 0; peer < all; ++peer) {
        const bool inside = peer / partitions == package;
        const int across = partitions > 1 ? 41 : 15;
        if (peer == i || peer == without) continue;
        put_link(i + 1, peer + 1, kXgmi, inside ? 13 : across, inside ? 819200 : 0, inside ? 819200 : 0);
      }
      put(fmt::format("/root/sys/bus/pci/devices/0000:{:02x}:00.0/current_compute_partition",
                      0x05 + 0x22 * package),
          mode);
    }
  }

  static GpuLinks between(const Graph& graph, size_t a, size_t b) {
    const auto gpus = graph.all(NodeKind::gpu);
    return gpu_links(graph, Adjacency(graph), gpus.at(a), gpus.at(b));
  }
};

TEST_F(DetectionOfAmd, TwoPartitionsInAGpu) {
  put_mi300x(2, 2, "DPX");
  const Detected detected = run();
  const Graph& graph = detected.graph;
  const auto gpus = graph.all(NodeKind::gpu);
  ASSERT_THAT(gpus, SizeIs(2));
  EXPECT_EQ(graph.get<GpuFacts>(gpus[0])->arch, "gfx942");
  EXPECT_EQ(graph.get<GpuFacts>(gpus[0])->units, 304) << "of both partitions";
  EXPECT_EQ(graph.get<GpuFacts>(gpus[1])->pci.address, "0000:27:00.0");
  const auto partitions = graph.all(NodeKind::partition);
  ASSERT_THAT(partitions, SizeIs(4));
  EXPECT_EQ(graph.get<PartitionFacts>(partitions[3])->profile, "DPX");
  EXPECT_EQ(between(graph, 0, 1).gb_per_s, 64) << "one link between packages";
  EXPECT_EQ(Paths(graph, Adjacency(graph), partitions[0]).path_class(partitions[3]), PathClass::nvl);
  EXPECT_THAT(meshes(graph), SizeIs(1));
  EXPECT_THAT(detected.findings, says("kfd", "2 GPUs in 4 partitions, 2 xGMI links"));
}

/// More than ten nodes, whose names do not sort as numbers; one partition is given to somebody else.
TEST_F(DetectionOfAmd, EightPartitionsInAGpu) {
  put_mi300x(4, 8, "CPX", 12);
  const Graph graph = run().graph;
  const auto gpus = graph.all(NodeKind::gpu);
  ASSERT_THAT(gpus, SizeIs(4));
  EXPECT_THAT(graph.all(NodeKind::partition), SizeIs(31));
  for (size_t i = 0; i < gpus.size(); ++i) {
    const auto& gpu = *graph.get<GpuFacts>(gpus[i]);
    EXPECT_EQ(gpu.device, static_cast<int>(i)) << "GPUs are counted, not partitions";
    EXPECT_EQ(gpu.units, i == 1 ? 266 : 304);
    EXPECT_EQ(gpu.pci.address, fmt::format("0000:{:02x}:00.0", 5 + 0x22 * i));
  }
  std::vector<int> numbers;
  for (const Index node : graph.all(NodeKind::partition)) {
    if (graph[node].parent == gpus[1]) numbers.push_back(graph.get<PartitionFacts>(node)->number);
  }
  EXPECT_THAT(numbers, ElementsAre(0, 1, 2, 3, 5, 6, 7)) << "as the driver numbers them";
  for (size_t i = 0; i < 4; ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_EQ(between(graph, i, j).count, 1);
  }
}

/// A container that was given one partition.
TEST_F(DetectionOfAmd, OnePartitionOfAGpu) {
  put_processor(0);
  put_gpu(3, kGfx942, 152, 0x502);
  put("/root/sys/bus/pci/devices/0000:05:00.0/current_compute_partition", "CPX");
  const Graph graph = run().graph;
  ASSERT_THAT(graph.all(NodeKind::partition), SizeIs(1));
  EXPECT_EQ(graph[graph.all(NodeKind::partition)[0]].name, "partition 2");
}

TEST_F(DetectionOfAmd, UndividedGpusHaveNoPartitions) {
  put_mi300x(2, 1, "SPX");
  const Detected detected = run();
  EXPECT_THAT(detected.graph.all(NodeKind::partition), SizeIs(0));
  EXPECT_THAT(detected.findings, says("kfd", "2 GPUs, 2 xGMI links"));
}

/// Drivers that do not number partitions: several nodes at one place.
TEST_F(DetectionOfAmd, PartitionsWithoutNumbers) {
  put_processor(0);
  put_gpu(1, kGfx942, 608, 0x500);
  put_gpu(2, kGfx942, 608, 0x500);
  const Graph graph = run().graph;
  EXPECT_THAT(graph.all(NodeKind::gpu), SizeIs(1));
  EXPECT_THAT(graph.all(NodeKind::partition), SizeIs(2));
}

/// MI250: packages of two dies that 4 links join; 2 and 1 lead elsewhere, as bandwidths tell. What has
/// another weight is no direct link.
TEST_F(DetectionOfAmd, DiesOfMi250) {
  put_processor(0);
  put_processor(1);
  for (int die = 0; die < 4; ++die) {
    put_gpu(die + 2, kGfx90a, 416, 0x100 * (die + 1));
    // Also to the other processor, over the first; as the driver lists it, the farther one may come first.
    put_link(die + 2, die / 2, kPcie, 20, 312, 32000);
    put_link(die + 2, 1 - die / 2, kPcie, 52);
  }
  const auto both = [&](int a, int b, int weight, int links) {
    put_link(a + 2, b + 2, kXgmi, weight, 50000, links * 50000);
    put_link(b + 2, a + 2, kXgmi, weight, 50000, links * 50000);
  };
  both(0, 1, 15, 4);
  both(2, 3, 15, 4);
  both(0, 2, 15, 2);
  both(1, 3, 15, 1);
  both(0, 3, 30, 1);
  put_link(3, 4, kPcie, 41, 0, 0, "p2p_links");
  const Graph graph = run().graph;
  const auto gpus = graph.all(NodeKind::gpu);
  ASSERT_THAT(gpus, SizeIs(4));
  EXPECT_EQ(graph.get<GpuFacts>(gpus[0])->arch, "gfx90a");
  EXPECT_EQ(between(graph, 0, 1).count, 4);
  EXPECT_EQ(between(graph, 0, 1).gb_per_s, 200);
  EXPECT_EQ(between(graph, 0, 2).count, 2);
  EXPECT_EQ(between(graph, 1, 3).count, 1);
  EXPECT_EQ(between(graph, 1, 2).count, 0);
  EXPECT_EQ(Paths(graph, Adjacency(graph), gpus[0]).path_class(gpus[3]), PathClass::nvb);
  std::vector<int> packages, numas;
  for (const Index gpu : gpus) {
    packages.push_back(graph.get<GpuFacts>(gpu)->package);
    numas.push_back(graph.get<NumaFacts>(graph.holder(gpu, NodeKind::numa))->number);
  }
  EXPECT_THAT(packages, ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(numas, ElementsAre(0, 0, 1, 1)) << "the nearest";
}

/// MI300A: GPU and processor are one package, joined by xGMI.
TEST_F(DetectionOfAmd, GpusOfOnePackageWithTheProcessor) {
  for (int i = 0; i < 2; ++i) put_processor(i);
  for (int i = 0; i < 2; ++i) {
    put_gpu(i + 2, kGfx942, 912, 0x100 * (i + 1));
    put_link(i + 2, i, kXgmi, 13, 0, 0);
    put_link(i + 2, 1 - i, kXgmi, 45, 0, 0);
    put_link(i + 2, 3 - i, kXgmi, 15, 64000, 128000);
  }
  const Graph graph = run().graph;
  const auto gpus = graph.all(NodeKind::gpu);
  ASSERT_THAT(gpus, SizeIs(2));
  EXPECT_EQ(graph.get<NumaFacts>(graph.holder(gpus[1], NodeKind::numa))->number, 1);
  EXPECT_EQ(between(graph, 0, 1).count, 2);
}

/// Two dies, joined as ROCm SMI says by `links`, in the words of `type`.
std::string smi_of_two(int links, const char* type) {
  std::string gpus;
  for (int gpu = 0; gpu < 2; ++gpu) {
    gpus += fmt::format(
        R"({}{{"address": "0000:0{}:00.0", "partition": 0, "name": "AMD Instinct MI250X", "unique_id": {},
            "numa_node": 0, "compute_partition": "SPX", "memory_partition": "NPS1",
            "links": [{{"to": {}, "type": "{}", "hops": 1, "weight": 15, "least_mb_per_s": 50000,
                       "most_mb_per_s": {}}}]}})",
        gpu > 0 ? ", " : "", gpu + 1, 17 + gpu, 1 - gpu, type, links * 50000);
  }
  return R"({"version": "6.1.2", "gpus": [)" + gpus + "]}";
}

class RocmSmiBesideTheDriver : public DetectionOfAmd {
 protected:
  /// What the kernel driver shows: no links, or 4.
  void put_dies(bool linked) {
    put_processor(0);
    put_processor(1);
    for (int die = 0; die < 2; ++die) {
      put_gpu(die + 2, kGfx90a, 416, 0x100 * (die + 1));
      put_link(die + 2, 0, kPcie, 20, 312, 32000);
      if (linked) put_link(die + 2, 3 - die, kXgmi, 15, 50000, 200000);
    }
  }
};

TEST_F(RocmSmiBesideTheDriver, ConfirmsAndNames) {
  put_dies(true);
  put("/rocm_smi.json", smi_of_two(4, "xgmi"));
  const Detected detected = run();
  const auto& gpu = *detected.graph.get<GpuFacts>(detected.graph.all(NodeKind::gpu).at(1));
  EXPECT_EQ(gpu.model_name, "AMD Instinct MI250X");
  EXPECT_EQ(gpu.uuid, "0x0000000000000012");
  EXPECT_EQ(between(detected.graph, 0, 1).count, 4);
  EXPECT_THAT(detected.findings, says("rsmi", "2 GPUs, NPS1, SPX (ROCm SMI 6.1.2)"));
  for (const Finding& finding : detected.findings)
    EXPECT_FALSE(finding.probe == "rsmi" && finding.kind == Finding::Kind::doubt) << finding.sentence;
}

TEST_F(RocmSmiBesideTheDriver, AddsLinksThatTheDriverDoesNotShow) {
  put_dies(false);
  put("/rocm_smi.json", smi_of_two(4, "xgmi"));
  const Detected detected = run();
  EXPECT_EQ(between(detected.graph, 0, 1).count, 4);
  EXPECT_EQ(between(detected.graph, 0, 1).gb_per_s, 200);
  EXPECT_THAT(detected.findings,
              says("rsmi", "2 xGMI links are reported by ROCm SMI but not by the kernel driver"));
}

TEST_F(RocmSmiBesideTheDriver, ContradictionsAreToldAndTheDriverWins) {
  put_dies(true);
  put("/rocm_smi.json", smi_of_two(4, "pcie"));
  Detected detected = run();
  EXPECT_EQ(between(detected.graph, 0, 1).count, 4);
  EXPECT_THAT(detected.findings,
              says("rsmi", "2 xGMI links are reported by the kernel driver but not by ROCm SMI"));
  put("/rocm_smi.json", smi_of_two(2, "xgmi"));
  detected = run();
  EXPECT_EQ(between(detected.graph, 0, 1).count, 4);
  EXPECT_THAT(detected.findings, says("rsmi", "for 2 pairs of GPUs"));
  std::string text = smi_of_two(4, "xgmi");
  put("/rocm_smi.json", text.replace(text.find("\"numa_node\": 0"), 14, "\"numa_node\": 1"));
  EXPECT_THAT(
      run().findings,
      says("rsmi",
           "GPU 0000:01:00.0 is at NUMA node 0 according to the kernel, but at 1 according to ROCm SMI"));
}

TEST_F(RocmSmiBesideTheDriver, IsAskedOnlyWhereAmdIs) {
  put("/rocm_smi.json", "{");
  EXPECT_THAT(run().findings, says("rsmi", "no AMD GPU"));
  put_dies(true);
  const Detected detected = run();
  EXPECT_THAT(detected.findings, says("rsmi", "cannot parse the record of ROCm SMI"));
  EXPECT_THAT(detected.graph.all(NodeKind::gpu), SizeIs(2)) << "as without it";
}

}  // namespace
}  // namespace weir::topology
