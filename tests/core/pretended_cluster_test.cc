// SPDX-License-Identifier: Apache-2.0

#include "src/core/placement/pretended_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "topology/views/summary.h"

namespace weir::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

PretendedCluster two_hosts() {
  auto cluster = PretendedCluster::read("2 x (2 gpu nvswitch 450, 2 nic 50) leaf");
  EXPECT_TRUE(cluster.ok()) << cluster.status().message();
  return std::move(*cluster);
}

/// As if a launcher had started this process; as before at the end.
class Launch {
 public:
  Launch(const char* rank, const char* size) {
    setenv("RANK", rank, 1);
    setenv("WORLD_SIZE", size, 1);
  }
  ~Launch() {
    unsetenv("RANK");
    unsetenv("WORLD_SIZE");
  }
};

TEST(PretendedCluster, HasItsGpusOrElseItsHosts) {
  const PretendedCluster gpus = two_hosts();
  EXPECT_TRUE(gpus.has_gpus());
  EXPECT_EQ(gpus.devices().size(), 4u);
  EXPECT_EQ(gpus.describe(0), "GPU 0 of host0");
  EXPECT_EQ(gpus.describe(3), "GPU 1 of host1");
  const auto hosts = PretendedCluster::read("3 x (1 nic 50) leaf");
  ASSERT_TRUE(hosts.ok()) << hosts.status().message();
  EXPECT_FALSE(hosts->has_gpus());
  EXPECT_EQ(hosts->devices().size(), 3u);
  EXPECT_EQ(hosts->describe(2), "host host2");
}

TEST(PretendedCluster, WhatIsNoClusterIsRefused) {
  const auto nowhere = PretendedCluster::read("/nowhere/dgx.xml");
  EXPECT_EQ(nowhere.status().code(), Code::invalid_argument);
  EXPECT_THAT(nowhere.status().message(), StartsWith("WEIR_PRETEND: there is no file /nowhere/dgx.xml"));
  const auto wrong = PretendedCluster::read("2 x (2 gpu telepathy 450)");
  EXPECT_EQ(wrong.status().code(), Code::invalid_argument);
  EXPECT_THAT(wrong.status().message(), HasSubstr("telepathy"));
}

TEST(PretendedCluster, AScaleStandsBehindTheFile) {
  EXPECT_EQ(two_hosts().scale(), 1);
  const auto slow = PretendedCluster::read("(2 gpu nvswitch 450)@2.5");
  ASSERT_TRUE(slow.ok()) << slow.status().message();
  EXPECT_EQ(slow->scale(), 2.5);
  EXPECT_EQ(slow->source(), "(2 gpu nvswitch 450)");
  for (const char* const wrong :
       {"(2 gpu nvswitch 450)@", "(2 gpu nvswitch 450)@fast", "(2 gpu nvswitch 450)@-1"}) {
    const auto refused = PretendedCluster::read(wrong);
    EXPECT_EQ(refused.status().code(), Code::invalid_argument) << wrong;
    EXPECT_THAT(refused.status().message(), HasSubstr("expected a number of at least 0 behind the @"))
        << wrong;
  }
}

TEST(PretendedCluster, RanksTakeTheDevicesOfTheirProcesses) {
  const PretendedCluster cluster = two_hosts();
  EXPECT_THAT(*cluster.places(std::vector{2, 0}), ElementsAre(2, 0));
  EXPECT_THAT(*cluster.places(std::vector{3, -1, 2}), ElementsAre(0, 1, 2)) << "not all have one";
  EXPECT_THAT(*cluster.places(std::vector{1, 1}), ElementsAre(0, 1)) << "two ranks of a process";
}

TEST(PretendedCluster, MoreRanksThanDevicesAreRefusedWithBothNumbers) {
  const PretendedCluster cluster = two_hosts();
  const auto many = cluster.places(std::vector(5, -1));
  EXPECT_EQ(many.status().code(), Code::invalid_usage);
  EXPECT_THAT(many.status().message(),
              HasSubstr("the communicator has 5 ranks, but 2 x (2 gpu nvswitch 450, 2 "
                        "nic 50) leaf (WEIR_PRETEND) has 4 GPUs"));
  const auto far = cluster.places(std::vector{0, 7});
  EXPECT_EQ(far.status().code(), Code::invalid_usage);
  EXPECT_THAT(far.status().message(), HasSubstr("process 7 of the job"));
}

TEST(PretendedCluster, TheTopologyOfRanksHasTheirHostsOnly) {
  const PretendedCluster cluster = two_hosts();
  const JobTopology all = cluster.topology_of(std::vector{0, 3, 1});
  EXPECT_EQ(all.hosts[0], all.hosts[2]);
  EXPECT_NE(all.hosts[0], all.hosts[1]);
  EXPECT_THAT(topology::summary_of(all.graph), HasSubstr("2 nodes each with"));
  const JobTopology second = cluster.topology_of(std::vector{2, 3});
  EXPECT_EQ(second.hosts[0], second.hosts[1]);
  EXPECT_EQ(second.graph[second.hosts[0]].name, "host1");
  EXPECT_THAT(topology::summary_of(second.graph), HasSubstr("1 node with"));
}

TEST(PretendedCluster, EqualClustersHaveOneDigest) {
  EXPECT_EQ(two_hosts().digest(), two_hosts().digest());
  EXPECT_NE(two_hosts().digest(),
            PretendedCluster::read("2 x (2 gpu nvswitch 300, 2 nic 50) leaf")->digest());
}

TEST(PretendedCluster, AProcessTellsItsNumberWhereCommunicatorsHaveOneRankPerProcess) {
  EXPECT_EQ(told_place(1), -1) << "no launcher";
  const Launch launch("5", "8");
  EXPECT_EQ(told_place(8), 5);
  EXPECT_EQ(told_place(2), 5);
  EXPECT_EQ(told_place(16), -1);
}

}  // namespace
}  // namespace weir::core
