// SPDX-License-Identifier: Apache-2.0

#include "src/core/placement/near_ports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "topology/formats/any.h"

namespace weir::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using topology::NodeKind;

topology::Graph machine(const std::string& name) {
  std::ifstream file(WEIR_MACHINES + name);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto graph = topology::read_any({name, text});
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return std::move(*graph);
}

/// The address of the GPU with this number.
std::string gpu(const topology::Graph& host, size_t number) {
  return host.get<topology::GpuFacts>(host.all(NodeKind::gpu)[number])->pci.address;
}

TEST(NearPorts, AreThoseBehindTheGpusOwnSwitch) {
  const topology::Graph host = machine("dgx1v.xml");
  EXPECT_THAT(near_ports(host, gpu(host, 0)), ElementsAre("mlx5_0"));
  EXPECT_THAT(near_ports(host, gpu(host, 1)), ElementsAre("mlx5_0"));
  EXPECT_THAT(near_ports(host, gpu(host, 7)), ElementsAre("mlx5_3"));
}

TEST(NearPorts, AreNotAskedForWhereThereIsNoDifference) {
  topology::Graph host = machine("dgx1v.xml");
  EXPECT_THAT(near_ports(host, "0000:ff:1f.7"), IsEmpty()) << "no such GPU";
  EXPECT_THAT(near_ports(host, "GPU 0"), IsEmpty()) << "no address";
  for (const topology::Index port : host.all(NodeKind::port))
    host.get<topology::PortFacts>(port)->active = host[port].name == "mlx5_1";
  EXPECT_THAT(near_ports(host, gpu(host, 0)), IsEmpty()) << "one port is left";
}

TEST(NearEnough, IsWhatNcclsLevelsSay) {
  const topology::Graph host = machine("dgx1v.xml");
  const auto from_0 = [&](const char* adapter, const char* level) {
    return is_near_enough(host, gpu(host, 0), adapter, level);
  };
  EXPECT_TRUE(from_0("mlx5_0", "").ok());
  EXPECT_TRUE(from_0("mlx5_0", "PIX").ok());
  EXPECT_THAT(from_0("mlx5_0", "LOC").message(), HasSubstr("mlx5_0 is at distance PIX from GPU 0000:"));
  EXPECT_EQ(from_0("mlx5_3", "").code(), Code::invalid_usage);
  EXPECT_THAT(from_0("mlx5_3", "PXB").message(), HasSubstr("NCCL_NET_GDR_LEVEL is PXB"));
  EXPECT_TRUE(from_0("mlx5_3", "SYS").ok());
  EXPECT_TRUE(from_0("mlx5_3", "4").ok());
  EXPECT_EQ(from_0("mlx5_0", "NEAR").code(), Code::invalid_argument);
  EXPECT_THAT(from_0("mlx5", "SYS").message(), HasSubstr("the distance between mlx5 and GPU 0000:"));
  EXPECT_FALSE(is_near_enough(host, "0000:ff:1f.7", "mlx5_0", "SYS").ok());
}

}  // namespace
}  // namespace weir::core
