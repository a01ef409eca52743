// SPDX-License-Identifier: Apache-2.0

#include "topology/detect/detect.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/detection.h"
#include "topology/detect/doctor.h"
#include "topology/model/check.h"
#include "topology/model/derive.h"
#include "topology/model/paths.h"

namespace weir::topology {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST_F(Detection, OfNothingIsAHostWithOneNumaNode) {
  const Detected detected = run();
  EXPECT_EQ(detected.graph.size(), 2);
  EXPECT_THAT(detected.findings, says("cpu", "libhwloc was not available"));
  EXPECT_THAT(detected.findings, says("nvml", "NVML was not available"));
  EXPECT_THAT(detected.findings, says("kfd", "is not loaded"));
}

TEST_F(Detection, OfThisMachineIsTheTruth) {
  const auto machine = drivers::this_machine();
  const Detected detected = detect(*machine);
  EXPECT_TRUE(check(detected.graph).ok());
  EXPECT_GE(detected.graph.all(NodeKind::numa).size(), 1u);
  std::string name;
  std::ifstream("/proc/sys/kernel/hostname") >> name;
  EXPECT_EQ(detected.graph[0].name, name);
  if (!fs::exists("/dev/nvidia0") && !fs::exists("/dev/kfd")) {
    EXPECT_TRUE(islands(detected.graph).empty()) << "no GPU is made up";
  }
}

TEST_F(Detection, ARecordGivesTheSameGraph) {
  auto recording = drivers::record_machine(folder_ + "/kept");
  ASSERT_TRUE(recording.ok());
  const Detected live = detect(**recording);
  ASSERT_TRUE((*recording)->error().ok()) << (*recording)->error().message();
  auto replay = drivers::replay_machine(folder_ + "/kept");
  ASSERT_TRUE(replay.ok());
  EXPECT_EQ(detect(**replay).graph, live.graph);
}

constexpr const char* kNvml = R"({"driver": "570.1", "gpus": [
 {"address": "0000:1b:00.0", "name": "NVIDIA A100", "uuid": "GPU-a", "major": 8, "minor": 0, "pcie_generation": 4,
  "pcie_width": 16, "most_pcie_generation": 4, "most_pcie_width": 16, "mig": true,
  "partitions": [{"uuid": "MIG-a", "profile": "3g.20gb"}], "c2c_links": 0, "c2c_mb_per_s": 0,
  "links": [{"remote": "gpu", "address": "0000:2b:00.0", "version": 3}, {"remote": "gpu", "address": "0000:2b:00.0", "version": 3},
            {"remote": "nvswitch", "address": "", "version": 3}, {"remote": "gpu", "address": "0000:99:00.0", "version": 3}]},
 {"address": "0000:2b:00.0", "name": "NVIDIA A100", "uuid": "GPU-b", "major": 8, "minor": 0, "pcie_generation": 4,
  "pcie_width": 16, "most_pcie_generation": 4, "most_pcie_width": 16, "mig": false, "partitions": [], "c2c_links": 10,
  "c2c_mb_per_s": 40000,
  "links": [{"remote": "gpu", "address": "0000:1b:00.0", "version": 3}, {"remote": "gpu", "address": "0000:1b:00.0", "version": 3},
            {"remote": "nvswitch", "address": "", "version": 3}]}]})";

TEST_F(Detection, LinksAndPartitionsOfNvidia) {
  put("/nvml.json", kNvml);
  const Detected detected = run();
  const Graph& graph = detected.graph;
  const auto gpus = graph.all(NodeKind::gpu);
  ASSERT_THAT(gpus, SizeIs(2));
  EXPECT_EQ(graph.get<GpuFacts>(gpus[0])->arch, "sm_80");
  const Adjacency adjacency(graph);
  EXPECT_EQ(gpu_links(graph, adjacency, gpus[0], gpus[1]).count, 3)
      << "two direct ones and one through the switch";
  EXPECT_EQ(gpu_links(graph, adjacency, gpus[0], gpus[1]).gb_per_s, 75);
  EXPECT_THAT(graph.all(NodeKind::nvswitch), SizeIs(1));
  EXPECT_THAT(graph.all(NodeKind::partition), SizeIs(1));
  EXPECT_THAT(detected.findings,
              says("nvml", "1 NVLinks of GPU 0000:1b:00.0 lead to GPUs that are not visible"));
}

/// As in DGX-2: each board has switches of its own, and nobody tells that these are joined.
TEST_F(Detection, BoardsOfNvswitchesAreJoined) {
  std::string gpus;
  for (int gpu = 0; gpu < 4; ++gpu) {
    gpus += fmt::format(
        R"({}{{"address": "0000:{}b:00.0", "name": "V100", "uuid": "", "major": 7, "minor": 0, "pcie_generation": 3,
            "pcie_width": 16, "most_pcie_generation": 3, "most_pcie_width": 16, "mig": false, "partitions": [],
            "c2c_links": 0, "c2c_mb_per_s": 0, "links": [)",
        gpu > 0 ? ", " : "", gpu + 1);
    for (int i = 0; i < 2; ++i)
      gpus += fmt::format(R"({}{{"remote": "nvswitch", "address": "0000:{}{}:00.0", "version": 2}})",
                          i > 0 ? ", " : "", gpu < 2 ? 6 : 7, i);
    gpus += "]}";
  }
  put("/nvml.json", R"({"driver": "570.1", "gpus": [)" + gpus + "]}");
  const Graph graph = run().graph;
  const auto all = graph.all(NodeKind::gpu);
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_THAT(graph.all(NodeKind::nvswitch), SizeIs(4));
  EXPECT_THAT(meshes(graph), SizeIs(1));
  const Adjacency adjacency(graph);
  EXPECT_EQ(gpu_links(graph, adjacency, all[0], all[1]).gb_per_s, 50);
  EXPECT_EQ(gpu_links(graph, adjacency, all[0], all[2]).gb_per_s, 50);
  EXPECT_EQ(Paths(graph, adjacency, all[0]).to(all[3]).path_class, PathClass::nvl);
}

TEST_F(Detection, SwitchesThatArePartsOfOne) {
  std::filesystem::copy(WEIR_SOURCE_FOLDER "/tests/topology/machines/pcie_gpus.hwloc.xml",
                        folder_ + "/hwloc.xml");
  const std::string links = "/root/sys/kernel/pci_switch_link/virtual_switch_links/";
  put(links + "0000:03:00.0/0000:07:00.0", "");
  put(links + "0000:07:00.0/0000:03:00.0", "");
  put(links + "0000:07:00.0/0000:99:00.0", "");  // not here
  for (const char* address : {"0000:03:00.0", "0000:07:00.0"})
    put(std::string("/root/sys/bus/pci/devices/") + address + "/current_link_width", "16");
  const Detected detected = run();
  EXPECT_THAT(detected.findings, says("pci", "1 pairs of PCIe switches that form one fabric"));
  const Graph& graph = detected.graph;
  const auto gpus = graph.all(NodeKind::gpu);
  const Path path = Paths(graph, Adjacency(graph), gpus[0]).to(gpus[2]);
  EXPECT_EQ(path.hops, 3) << "not up to the switch above both";
}

TEST_F(Detection, ABrokenProbeTakesOnlyItselfDown) {
  put("/nvml.json", "{\"driver\": ");
  put("/hwloc.xml", "<topology version=\"2.0\"><object");
  put("/root/sys/devices/system/node/node0/cpumap", "f");
  put("/root/sys/devices/system/node/node1/cpumap", "f0");
  const Detected detected = run();
  EXPECT_THAT(detected.graph.all(NodeKind::numa), SizeIs(2));
  EXPECT_THAT(detected.findings, says("cpu", "hwloc:1: "));
  EXPECT_THAT(detected.findings, says("nvml", "cannot parse the record of NVML"));
}

/// A GPU told by two NVLink ends of which one side is missing: the probe's work is dropped, not the machine.
TEST_F(Detection, ContradictionsAreLeftOut) {
  std::string text = kNvml;
  const std::string link = R"({"remote": "gpu", "address": "0000:1b:00.0", "version": 3}, )";
  text.erase(text.rfind(link), link.size());
  put("/nvml.json", text);
  const Detected detected = run();
  EXPECT_THAT(detected.graph.all(NodeKind::gpu), SizeIs(0));
  EXPECT_THAT(detected.findings, says("nvml", "discarded its findings: the topology has"));
}

TEST_F(Detection, PortsOfVerbsAndEthernet) {
  const std::string pci = "/root/sys/devices/pci0000:00/0000:00:01.0/0000:3b:00.0";
  put("/root/sys/devices/system/node/node0/cpumap", "1");
  put(pci + "/numa_node", "0");
  put(pci + "/infiniband/mlx5_0/node_guid", "0002:c903:0010:3f00");
  for (int port = 1; port <= 2; ++port) {
    const std::string folder = fmt::format("{}/infiniband/mlx5_0/ports/{}", pci, port);
    put(folder + "/state", port == 1 ? "4: ACTIVE" : "1: DOWN");
    put(folder + "/rate", "200 Gb/sec (4X HDR)");
    put(folder + "/link_layer", "InfiniBand");
    put(folder + "/lid", "0x1f");
    put(folder + "/gids/0", fmt::format("fe80:0000:0000:0000:0002:c903:0010:3f0{}", port));
  }
  link("/sys/class/infiniband/mlx5_0",
       "../../devices/pci0000:00/0000:00:01.0/0000:3b:00.0/infiniband/mlx5_0");
  link("/sys/devices/pci0000:00/0000:00:01.0/0000:3b:00.0/infiniband/mlx5_0/device", "../../../0000:3b:00.0");
  put("/root/sys/devices/pci0000:00/0000:00:03.0/virtio2/net/eth0/operstate", "up");
  put("/root/sys/devices/pci0000:00/0000:00:03.0/virtio2/net/eth0/speed", "-1");
  link("/sys/class/net/eth0", "../../devices/pci0000:00/0000:00:03.0/virtio2/net/eth0");
  link("/sys/devices/pci0000:00/0000:00:03.0/virtio2/net/eth0/device", "../../../virtio2");
  put("/root/sys/devices/virtual/net/lo/operstate", "unknown");
  link("/sys/class/net/lo", "../../devices/virtual/net/lo");
  const Detected detected = run();
  const Graph& graph = detected.graph;
  EXPECT_THAT(graph.all(NodeKind::nic), SizeIs(2));
  const auto ports = graph.all(NodeKind::port);
  ASSERT_THAT(ports, SizeIs(3));
  const auto& first = *graph.get<PortFacts>(ports[0]);
  EXPECT_EQ(graph[ports[0]].name, "mlx5_0:1");
  EXPECT_EQ(first.mbit_per_s, 200000);
  EXPECT_EQ(first.guid, 0x0002c90300103f01u);
  EXPECT_EQ(first.lid, 31);
  EXPECT_FALSE(graph.get<PortFacts>(ports[1])->active);
  EXPECT_EQ(graph[ports[2]].name, "eth0");
  EXPECT_EQ(graph[graph[ports[2]].parent].name, "0000:00:03.0");
  EXPECT_THAT(detected.findings, says("nic", "does not report the speed of eth0"));
}

TEST_F(Detection, PortsWithoutLink) {
  put("/root/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE");
  put("/root/sys/class/infiniband/mlx5_0/ports/2/state", "1: DOWN");
  put("/root/sys/class/infiniband/mlx5_1/ports/1/state", "2: INIT");
  for (const auto& [name, state] : {std::pair("eth0", "up"), std::pair("eth1", "lowerlayerdown"),
                                    std::pair("lo", "unknown"), std::pair("docker0", "down")})
    put(fmt::format("/root/sys/class/net/{}/operstate", name), state);
  EXPECT_THAT(ports_without_link((*drivers::replay_machine(folder_))->files()),
              ElementsAre("docker0", "eth1", "mlx5_0:2", "mlx5_1"));
}

TEST_F(Detection, SwitchesThatLldpHeard) {
  put("/root/sys/devices/system/node/node0/cpumap", "1");
  put("/root/sys/class/net/eth0/speed", "25000");
  put("/lldp.json", R"([
    {"interface": "eth0", "chassis": "aa:00", "chassis_name": "leaf", "port": "swp1", "is_switch": true},
    {"interface": "eth1", "chassis": "aa:01", "chassis_name": "leaf", "port": "swp1", "is_switch": true},
    {"interface": "eth1", "chassis": "bb:00", "chassis_name": "host9", "port": "eth1", "is_switch": false}])");
  const Detected detected = run();
  const std::vector<Leaf> found = leaves(detected.graph);
  ASSERT_THAT(found, SizeIs(2)) << "two switches of one name";
  EXPECT_EQ(detected.graph[found[0].fabric_switch].name, "leaf (aa:00)");
  EXPECT_EQ(found[0].down_gb_per_s, 3.125);
  EXPECT_THAT(detected.findings, says("lldp", "2 cables to 2 Ethernet switches"));
  put("/lldp.json", "[{}]");
  EXPECT_THAT(run().findings, says("lldp", "cannot parse the record of lldpd"));
}

TEST_F(Detection, VirtualMachinesAndContainers) {
  put("/root/proc/cpuinfo", "flags\t\t: fpu vme hypervisor sse");
  put("/root/sys/class/dmi/id/sys_vendor", "Amazon EC2");
  put("/root/proc/sys/kernel/hostname", "node7");
  put("/root/.dockerenv", "");
  const Detected detected = run();
  EXPECT_EQ(detected.graph[0].name, "node7");
  EXPECT_EQ(detected.graph.get<HostFacts>(0)->hypervisor, "Amazon EC2");
  EXPECT_THAT(detected.findings, says("host", "shows no PCIe switches"));
  EXPECT_THAT(detected.findings, says("host", "a container"));
}

TEST_F(Detection, TheDoctorKnowsLimitsAndDrivers) {
  put("/limits", "shm_bytes 1048576 memlock_bytes 65536 open_files 1024");
  put("/root/sys/class/iommu/dmar0/name", "dmar0");
  put("/root/proc/cmdline", "quiet splash");
  Graph graph;
  const Index host = graph.add("h", kNone, HostFacts{});
  const Index numa = graph.add("0", host, NumaFacts{});
  GpuFacts gpu;
  gpu.pci.vendor = 0x10de;
  graph.add("gpu", numa, gpu);
  PortFacts port;
  port.layer = PortLayer::infiniband;
  graph.add("mlx5_0", graph.add("nic", numa, NicFacts{}), port);
  auto machine = drivers::replay_machine(folder_);
  ASSERT_TRUE(machine.ok());
  const auto diagnoses = diagnose_host(**machine, graph);
  for (const char* words : {"may lock only 64 KiB", "/dev/shm has only 1 MiB", "may open only 1024 files",
                            "an IOMMU translates", "nvidia_peermem"})
    EXPECT_THAT(diagnoses, Contains(Field(&Diagnosis::finding, HasSubstr(words))));
  put("/limits", "shm_bytes 1073741824 memlock_bytes 18446744073709551615 open_files 65536");
  put("/root/proc/cmdline", "quiet iommu=pt");
  put("/root/sys/module/nvidia_peermem/version", "1");
  EXPECT_THAT(diagnose_host(**machine, graph), SizeIs(0));
}

}  // namespace
}  // namespace weir::topology
