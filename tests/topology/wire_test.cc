// SPDX-License-Identifier: Apache-2.0

#include "topology/model/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/formats/synthetic.h"

namespace weir::topology {
namespace {

using ::testing::HasSubstr;

Bytes bytes_of(const Graph& graph) {
  ByteWriter writer;
  put_graph(writer, graph);
  return writer.take();
}

Result<Graph> read(BytesView bytes) {
  ByteReader reader(bytes);
  return get_graph(reader);
}

/// One node of every kind and a link of every figure, no field as it is by itself.
Graph everything() {
  const PciFacts pci{"0000:3b:00.0", 0x030200, 0x10de, 0x2330, 0x10de, 0x16c1, 32, 16, 64, 8};
  const CpuFacts cpu{"x86_64", "GenuineIntel", 6, 143};
  Graph graph;
  const Index host = graph.add("node7", kNone, HostFacts{17, "KVM"});
  const Index package = graph.add("0", host, PackageFacts{0, cpu, "Xeon"});
  const Index numa = graph.add("1", package, NumaFacts{1, "ffff", cpu, 1 << 30});
  const Index bridge = graph.add("b", numa, BridgeFacts{true, pci, {"0000:01:00.0", "0000:02:00.0"}});
  const Index gpu = graph.add("g", bridge, GpuFacts{pci, 3, 5, "sm_90", 304, 9, true, 2, "GPU-1", "H100"});
  graph.add("p", gpu, PartitionFacts{1, "3g.40gb", "MIG-1"});
  graph.add("s", host, NvSwitchFacts{pci});
  const Index nic = graph.add("n", bridge, NicFacts{pci, "ConnectX-7"});
  graph.add("mlx5_0", nic,
            PortFacts{2, 2, 400000, 1.5, 99, 1024, true, true, PortLayer::infiniband, false, 12, 1, 3});
  graph.add("leaf1", kNone, FabricSwitchFacts{1, 77, 64});
  graph.connect({gpu, bridge, LinkKind::pci, 2, 63, 0.4, -1});
  graph.connect({nic, bridge, LinkKind::pci, 1, 31.5, 0, 4});
  return graph;
}

TEST(Wire, KeepsEveryField) {
  const Graph graph = everything();
  auto again = read(bytes_of(graph));
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, graph);
}

TEST(Wire, KeepsACluster) {
  auto machine =
      read_synthetic({"line", "4 x (2 numa, 8 gpu nvswitch 450, 8 nic 50) rail leaf by 2 spine 2"});
  ASSERT_TRUE(machine.ok());
  const Graph graph = graph_of(*machine);
  auto again = read(bytes_of(graph));
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, graph);
}

TEST(Wire, RefusesWhatIsCutOff) {
  const Bytes bytes = bytes_of(everything());
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto graph = read(BytesView(bytes).first(size));
    EXPECT_EQ(graph.status().code(), Code::internal_error) << size;
  }
}

TEST(Wire, RefusesWhatIsNoGraph) {
  Graph graph = everything();
  graph.links()[0].count = 0;
  EXPECT_THAT(read(bytes_of(graph)).status().message(), HasSubstr("count below 1"));
  graph = everything();
  graph.add({0, 999, LinkKind::pci, 1, 1, 0, -1});
  EXPECT_THAT(read(bytes_of(graph)).status().message(), HasSubstr("does not connect two nodes"));
  graph = everything();
  graph[3].parent = 7000;
  EXPECT_THAT(read(bytes_of(graph)).status().message(), HasSubstr("invalid parent 7000"));
}

}  // namespace
}  // namespace weir::topology
