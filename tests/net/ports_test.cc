// SPDX-License-Identifier: Apache-2.0

#include "src/net/ports.h"

#include <gmock/gmock.h>

#include "src/net/listener/listener.h"
#include "tests/net/families.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Ports, ReadsOnePortAndRanges) {
  EXPECT_EQ(*PortRange::parse(""), (PortRange{0, 0}));
  EXPECT_EQ(*PortRange::parse("4711"), (PortRange{4711, 4711}));
  EXPECT_EQ(*PortRange::parse("50000-50100"), (PortRange{50000, 50100}));
  EXPECT_EQ(*PortRange::parse("65535-65535"), (PortRange{65535, 65535}));
  for (const std::string text : {"4711", "50000-50100"}) EXPECT_EQ(PortRange::parse(text)->text(), text);
}

TEST(Ports, RefusesWhatIsNoRange) {
  for (const std::string text :
       {"0", "0-5", "65536", "5-4", "5-", "-5", "-", "5-6-7", "five", "5 -6", " 5", "5,6", "+5", "5-65536"}) {
    const auto ports = PortRange::parse(text);
    EXPECT_EQ(ports.status().code(), Code::invalid_argument) << text;
    EXPECT_THAT(ports.status().message(), AllOf(HasSubstr("WEIR_PORTS=" + text), HasSubstr("50000-50100")));
  }
}

class PortsOf : public ::testing::TestWithParam<int> {
 protected:
  /// Three ports, of which `taken_` uses the middle one; the others were free when this was made.
  PortRange around_a_taken_port() {
    for (int attempt = 0; attempt < 100; ++attempt) {
      taken_ = std::move(*Socket::listen(any()));
      const uint16_t port = taken_.local_address()->port();
      if (port > 65000) continue;
      const PortRange range{static_cast<uint16_t>(port - 1), static_cast<uint16_t>(port + 1)};
      if (listen_in(any(), {range.first, range.first}).ok() &&
          listen_in(any(), {range.last, range.last}).ok())
        return range;
    }
    ADD_FAILURE() << "no three ports in a row";
    return {};
  }
  static SocketAddress any() { return SocketAddress::loopback(GetParam(), 0); }

  Socket taken_;
};

TEST_P(PortsOf, TheFirstFreePortOfARangeIsTakenAndExhaustionIsExplained) {
  const PortRange range = around_a_taken_port();
  const auto low = listen_in(any(), range);
  const auto high = listen_in(any(), range);
  ASSERT_TRUE(low.ok() && high.ok());
  EXPECT_EQ(low->local_address()->port(), range.first);
  EXPECT_EQ(high->local_address()->port(), range.last);
  const auto none = listen_in(any(), range);
  EXPECT_EQ(none.status().code(), Code::invalid_usage);
  EXPECT_THAT(none.status().message(),
              AllOf(HasSubstr("WEIR_PORTS=" + range.text()), HasSubstr(any().host_text() + ";")));
}

TEST_P(PortsOf, ListenersShareARangeUntilItIsUsedUp) {
  const PortRange range = around_a_taken_port();
  const SocketAddress at = any();
  auto first = Listener::open({&at, 1}, range, nullptr);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ((*first)->address().port(), range.first);
  const auto second = Listener::open({&at, 1}, range, nullptr);
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_EQ(Listener::open({&at, 1}, range, nullptr).status().code(), Code::invalid_usage);
  first->reset();
  EXPECT_TRUE(Listener::open({&at, 1}, range, nullptr).ok()) << "a listener that is closed leaves its port";
}

INSTANTIATE_TEST_SUITE_P(Families, PortsOf, ::testing::ValuesIn(testing::families()));

TEST(Ports, AListenerMayHaveSeveralAddresses) {
  std::vector<SocketAddress> wanted = {*SocketAddress::parse("127.0.0.2:0"),
                                       *SocketAddress::parse("127.0.0.3:0")};
  for (const int family : testing::families()) wanted.push_back(SocketAddress::loopback(family, 0));
  const auto listener = Listener::open(
      wanted, {}, [](uint64_t, BytesView question) { return Bytes(question.begin(), question.end()); });
  ASSERT_TRUE(listener.ok()) << listener.status().message();
  ASSERT_EQ((*listener)->addresses().size(), wanted.size());
  (*listener)->admit(0, {});
  EXPECT_EQ((*listener)->address(), (*listener)->addresses()[0]);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const SocketAddress& address = (*listener)->addresses()[i];
    EXPECT_EQ(address.host_text(), wanted[i].host_text());
    const std::byte said{static_cast<unsigned char>(i)};
    const Answer answer = ask(address, 1, {}, {&said, 1}, Deadline::in_ms(5000));
    ASSERT_EQ(answer.kind, Answer::Kind::given) << answer.why;
    EXPECT_EQ(answer.bytes, Bytes{said});
  }
}

}  // namespace
}  // namespace weir
