// SPDX-License-Identifier: Apache-2.0

#include "transports/verbs/ports.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>

namespace weir::verbs {
namespace {

using drivers::VerbsGid;
using drivers::VerbsPort;
using Kind = VerbsGid::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

VerbsGid gid(int index, Kind kind, const std::string& address) {
  VerbsGid made{.index = index, .kind = kind, .bytes = {}, .interface = ""};
  const std::string mapped = address.find(':') == std::string::npos ? "::ffff:" + address : address;
  EXPECT_EQ(inet_pton(AF_INET6, mapped.c_str(), made.bytes.data()), 1) << address;
  return made;
}

/// As Linux fills the table of a RoCE port.
VerbsPort roce(const std::string& device, uint8_t number = 1) {
  return {.device = device,
          .number = number,
          .ethernet = true,
          .active = true,
          .gids = {gid(0, Kind::roce_v1, "fe80::1"), gid(1, Kind::roce_v2, "fe80::1"),
                   gid(2, Kind::roce_v1, "10.1.0.5"), gid(3, Kind::roce_v2, "fd00::5"),
                   gid(4, Kind::roce_v2, "10.1.0.5"), gid(5, Kind::roce_v2, "10.2.0.5")}};
}

int chosen(const VerbsPort& port, const Options& options) {
  const auto choice = choose_gid(port, options);
  EXPECT_TRUE(choice.ok()) << choice.status().message();
  return choice.ok() ? choice->gid.index : -1;
}

TEST(VerbsGids, ChoosesIpv4OfRoceV2First) {
  Options options;
  EXPECT_EQ(chosen(roce("a"), options), 4);
  EXPECT_THAT(choose_gid(roce("a"), options)->why, HasSubstr("RoCE v2, IPv4 preferred to IPv6"));
  options.ib_addr_family = "AF_INET6";
  EXPECT_EQ(chosen(roce("a"), options), 3);
  options.ib_addr_family = "";
  options.ib_roce_version = 1;
  EXPECT_EQ(chosen(roce("a"), options), 2);
  options = {};
  options.ib_addr_range = "10.2.0.0/16";
  EXPECT_EQ(chosen(roce("a"), options), 5);
  options.ib_addr_range = "fd00::/8";
  EXPECT_EQ(chosen(roce("a"), options), 3);
  options = {};
  options.ib_gid_index = 0;
  EXPECT_EQ(chosen(roce("a"), options), 0);
}

TEST(VerbsGids, TakesWhatThereIsForWantOfBetter) {
  VerbsPort port = roce("a");
  port.gids.resize(2);
  EXPECT_EQ(chosen(port, {}), 1);
  EXPECT_THAT(choose_gid(port, {})->why, HasSubstr("link-local"));
}

TEST(VerbsGids, SaysWhatThereIsWhenNothingFits) {
  Options options;
  options.ib_addr_range = "192.168.0.0/16";
  EXPECT_THAT(choose_gid(roce("a"), options).status().message(), HasSubstr("4: 10.1.0.5 (RoCE v2)"));
  options = {};
  options.ib_gid_index = 9;
  EXPECT_THAT(choose_gid(roce("a"), options).status().message(), HasSubstr("no GID 9"));
  for (const char* range : {"10.0.0.0", "10.0.0.0/33", "10.0.0/8", "x/8", "10.0.0.0/"}) {
    options = {};
    options.ib_addr_range = range;
    EXPECT_THAT(choose_gid(roce("a"), options).status().message(), HasSubstr("is not an address range"))
        << range;
  }
  options = {};
  options.ib_addr_family = "IPv4";
  EXPECT_THAT(choose_gid(roce("a"), options).status().message(), HasSubstr("AF_INET or AF_INET6"));
}

TEST(VerbsHcas, MatchesAsNcclDoes) {
  const auto passes = [](const std::string& list, const char* device, uint8_t number = 1) {
    return passes_hca(list, roce(device, number));
  };
  EXPECT_TRUE(passes("", "mlx5_0"));
  EXPECT_TRUE(passes("mlx5", "mlx5_0"));
  EXPECT_TRUE(passes("mlx5_1", "mlx5_10"));
  EXPECT_FALSE(passes("=mlx5_1", "mlx5_10"));
  EXPECT_TRUE(passes("=mlx5_1,mlx5_10", "mlx5_10"));
  EXPECT_FALSE(passes("mlx5_0:2", "mlx5_0", 1));
  EXPECT_TRUE(passes("mlx5_0:2", "mlx5_0", 2));
  EXPECT_FALSE(passes("^mlx5", "mlx5_0"));
  EXPECT_TRUE(passes("^=mlx5_1", "mlx5_10"));
  EXPECT_FALSE(passes("^=mlx5_1:1", "mlx5_1", 1));
  EXPECT_TRUE(passes("^=mlx5_1:1", "mlx5_1", 2));
}

TEST(VerbsHcas, NamesThePortsThatAreLeftOut) {
  VerbsPort down = roce("mlx5_2");
  down.active = false;
  VerbsPort bare = roce("mlx5_3");
  bare.gids.clear();
  Options options;
  options.ib_hca = "^irdma";
  const PortChoice choice =
      choose_ports({roce("mlx5_10"), roce("irdma0"), down, bare, roce("mlx5_1")}, options);
  ASSERT_EQ(choice.used.size(), 2u);
  EXPECT_EQ(choice.used[0].port.device, "mlx5_1");
  EXPECT_EQ(choice.used[1].port.device, "mlx5_10");
  EXPECT_THAT(choice.left_out,
              ElementsAre(HasSubstr("irdma0:1: excluded by NCCL_IB_HCA"),
                          HasSubstr("mlx5_2:1: the port is down"), HasSubstr("mlx5_3:1: no GID")));
}

PortAddress port_at(const std::string& address, uint32_t ipv4_bits) {
  return {.name = "a:1",
          .ethernet = true,
          .routable = true,
          .network_bits = ipv4_bits == 0 ? 0 : 96 + ipv4_bits,
          .gid = gid(0, Kind::roce_v2, address).bytes};
}

TEST(VerbsPairs, FollowNetworksNotNumbers) {
  const std::vector<PortAddress> ours = {port_at("10.0.0.1", 24), port_at("10.1.0.1", 24),
                                         port_at("10.2.0.1", 24)};
  const std::vector<PortAddress> theirs = {port_at("10.2.0.9", 24), port_at("10.0.0.9", 24)};
  EXPECT_THAT(port_pairs(ours, theirs), ElementsAre(Pair(0, 1), Pair(2, 0)));
  EXPECT_THAT(port_pairs(theirs, ours), ElementsAre(Pair(0, 2), Pair(1, 0)));
}

TEST(VerbsPairs, PreferPortsNearTheGpus) {
  std::vector<PortAddress> ours, theirs;
  for (const char* network : {"10.0.0.", "10.1.0.", "10.2.0.", "10.3.0."}) {
    ours.push_back(port_at(std::string(network) + "1", 24));
    theirs.push_back(port_at(std::string(network) + "2", 24));
  }
  ours[2].near = true;
  EXPECT_THAT(port_pairs(ours, theirs), ElementsAre(Pair(2, 2))) << "they do not care";
  theirs[2].near = true;
  EXPECT_THAT(port_pairs(ours, theirs), ElementsAre(Pair(2, 2)));
  theirs[2].near = false;
  theirs[1].near = true;  // of another network: one end of each is near
  EXPECT_THAT(port_pairs(ours, theirs), ElementsAre(Pair(1, 1), Pair(2, 2)));
  EXPECT_THAT(port_pairs(theirs, ours), ElementsAre(Pair(1, 1), Pair(2, 2)));
  ours.resize(3);
  theirs = {theirs[3]};  // none in common
  EXPECT_THAT(port_pairs(ours, theirs), ElementsAre(Pair(2, 0)));
}

TEST(VerbsPairs, OfOneNetworkJoinTheNearOnes) {
  std::vector<PortAddress> ours, theirs;
  for (int i = 1; i < 5; ++i) {
    ours.push_back(port_at("10.0.0." + std::to_string(i), 16));
    theirs.push_back(port_at("10.0.1." + std::to_string(i), 16));
  }
  ours[3].near = theirs[0].near = true;
  EXPECT_THAT(port_pairs(ours, theirs), ElementsAre(Pair(3, 0)));
  EXPECT_THAT(port_pairs(theirs, ours), ElementsAre(Pair(0, 3)));
}

TEST(VerbsPairs, GiveEachPortOnePeer) {
  const std::vector<PortAddress> ours = {port_at("10.0.0.1", 16), port_at("10.0.1.1", 16)};
  EXPECT_THAT(port_pairs(ours, ours), ElementsAre(Pair(0, 0), Pair(1, 1)));
  EXPECT_THAT(port_pairs({ours[1]}, ours), ElementsAre(Pair(0, 0)));
}

TEST(VerbsPairs, AreRoutedWhereNoNetworkIsShared) {
  const std::vector<PortAddress> ours = {port_at("10.0.0.1", 31), port_at("10.0.0.3", 31)};
  const std::vector<PortAddress> theirs = {port_at("10.9.0.1", 31), port_at("10.9.0.3", 0)};
  EXPECT_THAT(port_pairs(ours, theirs), ElementsAre(Pair(0, 0), Pair(1, 1)));
  PortAddress v1 = theirs[0];
  v1.routable = false;
  EXPECT_THAT(port_pairs({ours[0]}, {v1}), IsEmpty());
  PortAddress v6 = theirs[0];
  v6.gid = gid(0, Kind::roce_v2, "fd00::1").bytes;
  EXPECT_THAT(port_pairs({ours[0]}, {v6}), IsEmpty());
}

TEST(VerbsPairs, InfiniBandPortsNeedOneSubnet) {
  PortAddress a{.name = "a:1", .network_bits = 64, .gid = gid(0, Kind::infiniband, "fe80::1").bytes};
  PortAddress b = a;
  b.gid = gid(0, Kind::infiniband, "fe80::2").bytes;
  EXPECT_THAT(port_pairs({a}, {b}), ElementsAre(Pair(0, 0)));
  b.gid = gid(0, Kind::infiniband, "fec0::2").bytes;
  EXPECT_THAT(port_pairs({a}, {b}), IsEmpty());
  EXPECT_THAT(port_pairs({a}, {port_at("10.0.0.1", 24)}), IsEmpty());
}

TEST(VerbsPairs, LoopbackHasABitLength) {
  VerbsGid loopback = gid(0, Kind::roce_v2, "127.0.0.1");
  loopback.interface = "lo";
  EXPECT_EQ(network_bits(loopback), 96u + 8);
  loopback.interface = "no such interface";
  EXPECT_EQ(network_bits(loopback), 0u);
}

}  // namespace
}  // namespace weir::verbs
