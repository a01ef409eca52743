// SPDX-License-Identifier: Apache-2.0

#include "src/net/interfaces.h"

#include <gmock/gmock.h>

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Interface make(const std::string& name, const std::string& address) {
  return {name, *SocketAddress::parse(address + ":0")};
}

const std::vector<Interface> kMany = {
    make("lo", "127.0.0.1"),  make("docker0", "172.17.0.1"), make("virbr0", "192.168.122.1"),
    make("eth0", "10.0.0.5"), make("eth1", "10.0.1.5"),      make("ib0", "10.1.0.5"),
    make("lo", "[::1]"),      make("eth0", "[2001:db8::5]"),
};

std::vector<Interface> without(std::initializer_list<std::string_view> names) {
  std::vector<Interface> left;
  for (const Interface& entry : kMany) {
    if (std::find(names.begin(), names.end(), entry.name) == names.end()) left.push_back(entry);
  }
  return left;
}

std::string choose(const std::vector<Interface>& interfaces, const InterfaceSelection& selection = {},
                   const std::optional<SocketAddress>& route = {}) {
  auto choice = choose_interface(interfaces, selection, route);
  if (!choice.ok()) return choice.status().message();
  EXPECT_FALSE(choice->why.empty());
  const std::string address = choice->interface.address.text();
  return choice->interface.name + " " + address.substr(0, address.rfind(':'));
}

TEST(Interfaces, TheOrderWithoutWishes) {
  EXPECT_EQ(choose(kMany), "ib0 10.1.0.5");
  EXPECT_EQ(choose(without({"ib0"})), "eth0 10.0.0.5");
  EXPECT_EQ(choose(without({"ib0", "eth0", "eth1"})), "docker0 172.17.0.1");
  EXPECT_EQ(choose(without({"ib0", "eth0", "eth1", "docker0"})), "lo 127.0.0.1");
  EXPECT_EQ(choose({make("virbr0", "192.168.122.1")}), "virbr0 192.168.122.1");
}

TEST(Interfaces, TheWayToWhereRanksGatherWins) {
  InterfaceSelection selection;
  selection.reach = *SocketAddress::parse("10.0.1.77:5000");
  EXPECT_EQ(choose(kMany, selection, *SocketAddress::parse("10.0.1.5:41234")), "eth1 10.0.1.5");
  EXPECT_EQ(choose(kMany, selection, *SocketAddress::parse("127.0.0.1:41234")), "lo 127.0.0.1");
  EXPECT_EQ(choose(kMany, selection, *SocketAddress::parse("9.9.9.9:1")), "ib0 10.1.0.5")
      << "no interface has it";
}

TEST(Interfaces, NamesArePrefixesExactOrExcluded) {
  EXPECT_EQ(choose(kMany, {.names = "eth1", .family = "", .reach = {}}), "eth1 10.0.1.5");
  EXPECT_EQ(choose(kMany, {.names = "docker,eth", .family = "", .reach = {}}), "docker0 172.17.0.1");
  EXPECT_EQ(choose(kMany, {.names = "^ib,eth0", .family = "", .reach = {}}), "eth1 10.0.1.5");
  EXPECT_EQ(choose(kMany, {.names = "=eth0", .family = "", .reach = {}}), "eth0 10.0.0.5");
  EXPECT_EQ(choose(kMany, {.names = "^=ib0,eth0", .family = "", .reach = {}}), "eth1 10.0.1.5");
  EXPECT_THAT(choose(kMany, {.names = "=eth", .family = "", .reach = {}}),
              AllOf(HasSubstr("NCCL_SOCKET_IFNAME==eth"), HasSubstr("eth1 (10.0.1.5)")));
}

TEST(Interfaces, TheFamilyIsKept) {
  EXPECT_EQ(choose(kMany, {.names = "", .family = "AF_INET6", .reach = {}}), "eth0 [2001:db8::5]");
  EXPECT_EQ(choose(kMany, {.names = "lo", .family = "af_inet6", .reach = {}}), "lo [::1]");
  EXPECT_THAT(choose(kMany, {.names = "", .family = "IPX", .reach = {}}),
              HasSubstr("NCCL_SOCKET_FAMILY=IPX"));
  EXPECT_THAT(choose({make("lo", "127.0.0.1")}, {.names = "", .family = "AF_INET6", .reach = {}}),
              HasSubstr("no running network interface matches NCCL_SOCKET_FAMILY=AF_INET6"));
  EXPECT_THAT(choose({}), HasSubstr("running interfaces: none"));
}

/// Devices of the given speeds in Mbit/s.
Interface device(const std::string& name, const std::string& address, int64_t speed) {
  Interface made = make(name, address);
  made.hardware = true;
  made.megabits_per_s = speed;
  return made;
}

/// Names and addresses of the first interface and its rails; then, in brackets, the interfaces that are left
/// out.
std::string rails(const std::vector<Interface>& interfaces, const InterfaceSelection& selection = {}) {
  const auto choice = choose_interface(interfaces, selection, std::nullopt);
  if (!choice.ok()) return choice.status().message();
  std::string text = choice->interface.name;
  for (const Interface& rail : choice->rails) text += " " + rail.name + "=" + rail.address.host_text();
  for (const std::string& sentence : choice->left_out)
    text += " [" + sentence.substr(0, sentence.find(' ')) + "]";
  return text;
}

TEST(Interfaces, RailsAreWhatTheNamesMean) {
  EXPECT_EQ(rails(kMany, {.names = "eth", .family = "", .reach = {}}),
            "eth0 eth1=10.0.1.5 [lo] [docker0] [virbr0] [ib0]");
  EXPECT_EQ(rails(kMany, {.names = "eth1,ib", .family = "", .reach = {}}),
            "eth1 ib0=10.1.0.5 [lo] [docker0] [virbr0] [eth0]");
  EXPECT_EQ(rails(kMany, {.names = "^ib", .family = "", .reach = {}}),
            "eth0 eth1=10.0.1.5 [lo] [docker0] [virbr0] [ib0]");
  EXPECT_EQ(rails(kMany, {.names = "eth", .family = "AF_INET6", .reach = {}}),
            "eth0 [lo] [docker0] [virbr0] [eth1] [ib0]");
  EXPECT_EQ(rails(kMany, {.names = "lo", .family = "", .reach = {}}),
            "lo [docker0] [virbr0] [eth0] [eth1] [ib0]");
}

TEST(Interfaces, WithoutNamesRailsAreDevicesAsFastAsTheFirst) {
  EXPECT_EQ(rails(without({"ib0"})), "eth0 [lo] [docker0] [virbr0] [eth1]") << "nothing is known of them";
  const std::vector<Interface> devices = {make("lo", "127.0.0.1"),
                                          device("eth0", "10.0.0.5", 100000),
                                          device("eth1", "10.0.1.5", 100000),
                                          device("eth2", "10.0.2.5", 1000),
                                          make("br-7", "172.18.0.1"),
                                          device("eth3", "[fe80::1]", 100000)};
  EXPECT_EQ(rails(devices), "eth0 eth1=10.0.1.5 [lo] [eth2] [br-7] [eth3]");
  const auto choice = choose_interface(devices, {}, std::nullopt);
  EXPECT_THAT(choice->left_out[1], AllOf(HasSubstr("eth2 (10.0.2.5)"), HasSubstr("1000 Mbit/s")));
  EXPECT_THAT(choice->left_out[2], HasSubstr("NCCL_SOCKET_IFNAME"));
}

Interface stopped(const std::string& name, const std::string& address) {
  Interface interface = make(name, address);
  interface.running = false;
  return interface;
}

TEST(Interfaces, OneWithoutCarrierIsTakenOnlyWhereNoOtherWillDo) {
  const std::vector<Interface> some = {make("lo", "127.0.0.1"), make("eth0", "10.0.0.5"),
                                       stopped("eth1", "10.0.1.5")};
  const SocketAddress there = *SocketAddress::parse("10.0.1.77:5000");
  const SocketAddress from = *SocketAddress::parse("10.0.1.5:41234");
  EXPECT_EQ(choose(some), "eth0 10.0.0.5");
  EXPECT_EQ(choose(some, {.names = "eth", .family = "", .reach = {}}), "eth0 10.0.0.5");
  EXPECT_EQ(choose(some, {.names = "eth1", .family = "", .reach = {}}), "eth1 10.0.1.5");
  const auto choice = choose_interface(some, {.names = "", .family = "", .reach = there}, from);
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->interface.name, "eth1");
  EXPECT_THAT(choice->doubts,
              ElementsAre("eth1 (10.0.1.5), the route to the bootstrap root at 10.0.1.77:5000, has no "
                          "carrier; it is waited for"));
}

TEST(Interfaces, LoopbackIsNoWayToAnotherHost) {
  const SocketAddress there = *SocketAddress::parse("10.0.1.77:5000");
  const std::vector<Interface> only_lo = {make("lo", "127.0.0.1"), stopped("eth1", "10.0.1.5")};
  EXPECT_EQ(choose(only_lo, {.names = "", .family = "", .reach = there}),
            "this host has no way to the bootstrap root at 10.0.1.77:5000: its running interfaces are lo "
            "(127.0.0.1); "
            "expected an interface with a route to that address");
  EXPECT_EQ(choose(only_lo), "lo 127.0.0.1");
  EXPECT_EQ(choose(only_lo, {.names = "lo", .family = "", .reach = there}), "lo 127.0.0.1") << "as asked for";
}

TEST(Interfaces, SayWhatTheUserProbablyDidNotMean) {
  const auto doubts = [](const std::vector<Interface>& interfaces, const std::string& names) {
    const auto choice =
        choose_interface(interfaces, {.names = names, .family = "", .reach = {}}, std::nullopt);
    return choice.ok() ? choice->doubts : std::vector<std::string>{choice.status().message()};
  };
  std::vector<Interface> two = {make("eth0", "10.0.0.5"), make("eth1", "10.0.1.5")};
  for (Interface& one : two) one.network_bits = 24;
  EXPECT_THAT(doubts(two, "eth0,eth1"), IsEmpty());
  EXPECT_THAT(doubts(two, "=eth0,eth7"), ElementsAre(HasSubstr("names eth7, which this host does not have")));
  EXPECT_THAT(doubts(two, "eth,ib"), IsEmpty()) << "a list for hosts of several kinds";
  two[1].running = false;
  EXPECT_THAT(doubts(two, "eth0,eth1"),
              ElementsAre("eth1 (10.0.1.5), which is named, has no carrier: it is not used"));
  EXPECT_THAT(doubts(two, ""), IsEmpty());
  two[1] = make("eth1", "10.0.0.6");
  two[1].network_bits = 24;
  EXPECT_THAT(doubts(two, "eth0,eth1"),
              ElementsAre(HasSubstr("eth0 (10.0.0.5) and eth1 (10.0.0.6) are in one network")));
}

TEST(Interfaces, NetworksAreComparedByTheirPrefix) {
  const auto same = [](const std::string& a, const std::string& b, uint32_t bits) {
    return same_network(make("", a).address, make("", b).address, bits);
  };
  EXPECT_TRUE(same("10.0.0.1", "10.0.0.254", 24));
  EXPECT_FALSE(same("10.0.0.1", "10.0.1.1", 24));
  EXPECT_TRUE(same("10.0.0.1", "10.0.1.1", 23));
  EXPECT_FALSE(same("10.0.0.1", "10.0.2.1", 23));
  EXPECT_TRUE(same("10.0.0.1", "10.0.0.1", 32));
  EXPECT_FALSE(same("10.0.0.1", "10.0.0.0", 32));
  EXPECT_TRUE(same("[2001:db8::1]", "[2001:db8::ffff]", 64));
  EXPECT_FALSE(same("[2001:db8::1]", "[2001:db8:0:1::1]", 64));
  EXPECT_FALSE(same("10.0.0.1", "[::1]", 0));
}

TEST(Interfaces, ThisMachineHasOne) {
  auto choice = choose_interface(InterfaceSelection{});
  ASSERT_TRUE(choice.ok()) << choice.status().message();
  EXPECT_TRUE(Socket::listen(choice->interface.address).ok());
  InterfaceSelection selection;
  selection.reach = *SocketAddress::parse("127.0.0.1:9");
  choice = choose_interface(selection);
  ASSERT_TRUE(choice.ok());
  EXPECT_TRUE(choice->interface.address.is_loopback()) << choice->interface.address.text();
}

}  // namespace
}  // namespace weir
