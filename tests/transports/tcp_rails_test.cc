// SPDX-License-Identifier: Apache-2.0

#include "transports/tcp/rails.h"

#include <gmock/gmock.h>

namespace weir::tcp {
namespace {

using ::testing::ElementsAre;

Rail rail(const std::string& name, const std::string& host, uint32_t bits) {
  return {.name = name, .listener = *SocketAddress::parse(host + ":7"), .network_bits = bits};
}

/// "from to" of each path; "any" where the kernel chooses.
std::vector<std::string> paths(const std::vector<Rail>& ours, const std::vector<Rail>& theirs,
                               bool same_machine = true) {
  const auto found = paths_between(ours, theirs, same_machine);
  if (!found.ok()) return {found.status().message()};
  std::vector<std::string> texts;
  for (const RailPath& path : *found)
    texts.push_back((path.from ? path.from->host_text() : "any") + " " + path.to.text());
  return texts;
}

TEST(TcpRails, AreNamedByTheNetworkThatTheyAreIn) {
  const std::vector<Interface> interfaces = {
      {.name = "lo", .address = *SocketAddress::parse("127.0.0.1:0"), .network_bits = 8},
      {.name = "wide", .address = *SocketAddress::parse("10.0.0.1:0"), .network_bits = 8},
      {.name = "eth0", .address = *SocketAddress::parse("10.0.0.1:0"), .network_bits = 24}};
  const auto rails = rails_at({*SocketAddress::parse("10.0.0.1:5"), *SocketAddress::parse("127.0.0.9:6"),
                               *SocketAddress::parse("192.168.0.1:7")},
                              interfaces);
  ASSERT_EQ(rails.size(), 3u);
  EXPECT_EQ(rails[0].text(), "eth0 (10.0.0.1)");
  EXPECT_EQ(rails[0].network_bits, 24u);
  EXPECT_EQ(rails[1].text(), "lo (127.0.0.9)");
  EXPECT_EQ(rails[2].text(), "192.168.0.1");
}

TEST(TcpRails, WithoutACarrierAreOnPathsThatDoNotRun) {
  const std::vector<Interface> interfaces = {
      {.name = "a", .address = *SocketAddress::parse("127.1.0.1:0"), .network_bits = 16},
      {.name = "b", .address = *SocketAddress::parse("127.2.0.1:0"), .network_bits = 16, .running = false}};
  std::vector<Rail> ours =
      rails_at({*SocketAddress::parse("127.1.0.1:5"), *SocketAddress::parse("127.2.0.1:5")}, interfaces);
  ByteWriter told;
  for (const Rail& rail : ours) rail.put(told);
  const Bytes bytes = told.take();
  ByteReader reader(bytes);
  const std::vector<Rail> theirs = {Rail::get(reader), Rail::get(reader)};
  const std::vector<Rail> whole = {rail("c", "127.1.0.2", 16), rail("d", "127.2.0.2", 16)};
  for (const auto& found : {paths_between(ours, whole, true), paths_between(whole, theirs, true)}) {
    ASSERT_EQ(found->size(), 2u);
    EXPECT_TRUE((*found)[0].running);
    EXPECT_FALSE((*found)[1].running);
  }
}

TEST(TcpRails, JoinNeighboursInTheSameNetwork) {
  // Both ends list their rails in another order.
  EXPECT_THAT(paths({rail("a", "127.1.0.1", 16), rail("b", "127.2.0.1", 16)},
                    {rail("c", "127.2.0.2", 16), rail("d", "127.1.0.2", 16)}),
              ElementsAre("127.1.0.1 127.1.0.2:7", "127.2.0.1 127.2.0.2:7"));
}

TEST(TcpRails, LeaveTheSourceOfTheOnlyPathToTheKernel) {
  EXPECT_THAT(paths({rail("a", "127.1.0.1", 16), rail("b", "127.2.0.1", 16)}, {rail("c", "127.2.0.2", 16)}),
              ElementsAre("any 127.2.0.2:7"));
}

TEST(TcpRails, OfDifferentNetworksAreRoutedInTurn) {
  EXPECT_THAT(paths({rail("a", "127.1.0.1", 16), rail("b", "127.2.0.1", 16), rail("c", "127.3.0.1", 16)},
                    {rail("d", "127.4.0.1", 16), rail("e", "127.5.0.1", 16)}),
              ElementsAre("127.1.0.1 127.4.0.1:7", "127.2.0.1 127.5.0.1:7"));
}

TEST(TcpRails, WithTheSameAddressOnTwoMachinesJoinNothing) {
  const std::vector<Rail> bridges = {rail("eth0", "127.1.0.1", 32), rail("docker0", "127.2.0.1", 16)};
  const std::vector<Rail> others = {rail("eth0", "127.3.0.1", 32), rail("docker0", "127.2.0.1", 16)};
  EXPECT_THAT(paths(bridges, others, true), ElementsAre("any 127.2.0.1:7"));
  EXPECT_THAT(paths(bridges, others, false), ElementsAre("any 127.3.0.1:7"));
}

TEST(TcpRails, TravelInAddresses) {
  ByteWriter address;
  rail("eth7", "10.1.2.3", 20).put(address);
  const Bytes bytes = address.take();
  ByteReader reader(bytes);
  const Rail read = Rail::get(reader);
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(read.text(), "eth7 (10.1.2.3)");
  EXPECT_EQ(read.listener.port(), 7);
  EXPECT_EQ(read.network_bits, 20u);
}

TEST(TcpRails, TakeAConnectionForEachTenGigabits) {
  for (const auto& [megabits, streams] : {std::pair<int64_t, uint32_t>{0, 2},
                                          {-1, 2},
                                          {1'000, 1},
                                          {10'000, 1},
                                          {25'000, 3},
                                          {40'000, 4},
                                          {400'000, 8}}) {
    Rail rail;
    rail.megabits_per_s = megabits;
    EXPECT_EQ(rail.streams(), streams) << megabits;
  }
}

}  // namespace
}  // namespace weir::tcp
