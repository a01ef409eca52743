// SPDX-License-Identifier: Apache-2.0

#include "src/net/advertised.h"

#include <gmock/gmock.h>

#include "src/net/listener/listener.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

SocketAddress parsed(std::string_view text) { return *SocketAddress::parse(text); }

TEST(Advertised, GivesThePortsOfTheRangeInTheirOrder) {
  const auto same = *Advertisement::parse("203.0.113.7", {});
  EXPECT_EQ(same.of(0, parsed("10.0.0.1:4711")).text(), "203.0.113.7:4711");
  EXPECT_EQ(same.own_port(parsed("203.0.113.7:29500")), 29500);
  const auto moved = *Advertisement::parse("203.0.113.7:7000, [2001:db8::7]:8000", {6000, 6010});
  ASSERT_EQ(moved.count(), 2u);
  EXPECT_EQ(moved.of(0, parsed("10.0.0.1:6000")).text(), "203.0.113.7:7000");
  EXPECT_EQ(moved.of(0, parsed("10.0.0.1:6010")).text(), "203.0.113.7:7010");
  EXPECT_EQ(moved.of(1, parsed("10.0.1.1:6003")).text(), "[2001:db8::7]:8003");
  EXPECT_EQ(moved.own_port(parsed("203.0.113.7:7004")), 6004);
  EXPECT_EQ(moved.own_port(parsed("203.0.113.7:7011")), 7011) << "not of the range";
  EXPECT_TRUE(moved.names(parsed("203.0.113.7:1")));
  EXPECT_FALSE(moved.names(parsed("203.0.113.8:1")));
  for (const std::string_view v6 : {"2001:db8::7", "[2001:db8::7]"})
    EXPECT_EQ(Advertisement::parse(v6, {})->of(0, parsed("[::1]:5")).text(), "[2001:db8::7]:5");
}

TEST(Advertised, IsTheOwnAddressWhereNothingIsAdvertised) {
  const auto nothing = *Advertisement::parse("", {});
  EXPECT_EQ(nothing.count(), 0u);
  EXPECT_EQ(nothing.of(0, parsed("10.0.0.1:5")), parsed("10.0.0.1:5"));
  EXPECT_FALSE(nothing.names(parsed("10.0.0.1:5")));
}

TEST(Advertised, RefusesWhatNobodyCouldConnectTo) {
  const PortRange ports{6000, 6010};
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"0.0.0.0", "0.0.0.0 is no address of a host"},
      {"[::]:7000", "is no address of a host"},
      {"203.0.113.7,", "an address is empty"},
      {",", "an address is empty"},
      {" ", "an address is empty"},
      {"203.0.113.7:0", "has port 0"},
      {"203.0.113.7:99999", "203.0.113.7:99999"},
      {"203.0.113.7:65530", "the 11 ports of WEIR_PORTS=6000-6010 from 203.0.113.7:65530 on end above 65535"},
      {"203.0.113.7,203.0.113.7", "gives two interfaces the same address 203.0.113.7"},
      {"203.0.113.7:7000,203.0.113.7:7010", "gives two interfaces the same address"},
      {"no.such.host.invalid", "no.such.host.invalid"},
  };
  for (const auto& [text, why] : wrong) {
    const auto read = Advertisement::parse(text, ports);
    EXPECT_EQ(read.status().code(), Code::invalid_argument) << text;
    EXPECT_THAT(read.status().message(), AllOf(HasSubstr("WEIR_ADVERTISE=" + text), HasSubstr(why))) << text;
  }
  EXPECT_TRUE(Advertisement::parse("203.0.113.7:7000,203.0.113.7:7011", ports).ok());
  EXPECT_THAT(Advertisement::parse("203.0.113.7:7000", {}).status().message(),
              HasSubstr("WEIR_PORTS does not say at which ports"));
}

/// Nobody listens at the advertised address: it stands for one of a router that does not send packets back.
TEST(Advertised, IsReachedAtItsOwnAddressFromTheSameNetworkNamespace) {
  const std::vector<SocketAddress> own = {SocketAddress::loopback(AF_INET, 0)};
  const auto opened =
      Listener::open(own, {}, {}, ReportReaders::user, *Advertisement::parse("127.0.0.99", {}));
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  Listener& listener = **opened;
  EXPECT_EQ(listener.address().host_text(), "127.0.0.99");
  EXPECT_EQ(own_address_of(listener.address()).host_text(), "127.0.0.1");
  const Credentials credentials = *Credentials::make(Secret::from_text("ours"), {});
  listener.admit(7, credentials);
  const DeliveryKey key{.scope = uint64_t{7} << 32, .purpose = 1, .from = 0, .to = 1};
  const Bytes message = ByteWriter().put(4711).take();
  const Status sent = post(listener.address(), key, credentials, message, Deadline::in_ms(20'000));
  ASSERT_TRUE(sent.ok()) << sent.message();
  EXPECT_EQ(listener.receive(key, Deadline::in_ms(20'000)), message);
}

}  // namespace
}  // namespace weir
