// SPDX-License-Identifier: Apache-2.0
// weir plan --emit nccl-graph as its users see it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/cli/weir_command.h"
#include "topology/formats/nccl_graph_xml.h"

namespace weir::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using weir::testing::CommandResult;
using weir::testing::weir_command;

CommandResult rings(const std::string& arguments) {
  return weir_command("plan " + arguments + " --emit nccl-graph");
}

topology::ChannelGraph ring_graph(const std::string& arguments) {
  const CommandResult result = rings(arguments);
  EXPECT_EQ(result.code, 0) << result.text;
  const auto graphs = topology::read_nccl_graph_xml({"graph.xml", result.text});
  EXPECT_TRUE(graphs.ok()) << graphs.status().message();
  return graphs.ok() && graphs->size() == 1 ? graphs->front() : topology::ChannelGraph{};
}

TEST(GraphFile, HasTheRingsOfOneHost) {
  const CommandResult result = rings("'(4 gpu mesh 100)'");
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.text,
              AllOf(StartsWith("<graphs version=\"1\">"), HasSubstr("nchannels=\"6\" speedintra=\"50\""),
                    HasSubstr("<gpu dev=\"3\"/>")));
  EXPECT_THAT(result.text, ::testing::Not(HasSubstr("<net")));
}

TEST(GraphFile, OfSeveralHostsIsOfOne) {
  for (const std::string host : {"host0", "host2"}) {
    const auto graph = ring_graph("'3 x (4 gpu nvswitch 300, 4 nic 25) leaf' --host " + host);
    ASSERT_FALSE(graph.channels.empty());
    EXPECT_EQ(graph.channels.size() % 4, 0U);
    EXPECT_EQ(graph.id, 0);
    EXPECT_FALSE(graph.cross_nic);
    std::multiset<int64_t> nics;
    for (const auto& channel : graph.channels) {
      ASSERT_EQ(channel.size(), 6U);
      EXPECT_TRUE(channel.front().is_net && channel.back().is_net);
      EXPECT_EQ(channel.front().device, channel.back().device) << "rails do not cross";
      EXPECT_EQ(channel[1].device, channel.front().device)
          << "GPU and NIC with one number share a PCIe switch";
      std::set<int64_t> gpus;
      for (size_t stop = 1; stop < 5; ++stop) gpus.insert(channel[stop].device);
      EXPECT_EQ(gpus, (std::set<int64_t>{0, 1, 2, 3}));
      nics.insert(channel.front().device);
    }
    for (int64_t nic = 0; nic < 4; ++nic) EXPECT_EQ(nics.count(nic), graph.channels.size() / 4);
    EXPECT_DOUBLE_EQ(graph.speed_inter * static_cast<double>(graph.channels.size()), 100);
  }
}

TEST(GraphFile, HasRingsOfHostsWithOneGpu) {
  const auto graph = ring_graph("'4 x (1 gpu, 2 nic 25) leaf' --host host1");
  ASSERT_EQ(graph.channels.size(), 2U);
  EXPECT_EQ(graph.channels[1].size(), 3U);
  EXPECT_EQ(graph.channels[1][0].device, 1);
  EXPECT_EQ(graph.speed_inter, 25);
}

TEST(GraphFile, CanBeOfSomeGpus) {
  const auto graph = ring_graph("'2 x (4 gpu nvswitch 300, 4 nic 25) leaf' --ranks 1-2,4-7 --host host0");
  ASSERT_FALSE(graph.channels.empty());
  for (const auto& channel : graph.channels) {
    ASSERT_EQ(channel.size(), 4U);
    EXPECT_EQ(channel[1].device + channel[2].device, 3);
  }
}

TEST(GraphFile, SaysWhichHostsThereAre) {
  const std::string two = "'2 x (2 gpu mesh 100, 2 nic 25) leaf'";
  const CommandResult unnamed = rings(two);
  EXPECT_EQ(unnamed.code, 2);
  EXPECT_THAT(unnamed.text, AllOf(HasSubstr("the GPUs are on 2"), HasSubstr("one of host0, host1")));
  const CommandResult unknown = rings(two + " --host host7");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.text, HasSubstr("--host is \"host7\"; expected a host of the ranks: host0, host1"));
}

}  // namespace
}  // namespace weir::cli
