// SPDX-License-Identifier: Apache-2.0

#include "src/net/socket.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "tests/base/limited_child.h"
#include "tests/net/families.h"
#include "tests/net/receive.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

SocketAddress address_of(const Socket& socket) { return *socket.local_address(); }

Socket listen_at(int family) {
  auto listener = Socket::listen(SocketAddress::loopback(family, 0));
  EXPECT_TRUE(listener.ok()) << listener.status().message();
  return std::move(*listener);
}

struct SocketPair {
  Socket here, there;
};

SocketPair connect_pair(int family) {
  const Socket listener = listen_at(family);
  SocketPair pair;
  pair.here = std::move(*Socket::connect(address_of(listener), Deadline::in_ms(5000)));
  for (auto accepted = listener.accept();; accepted = listener.accept()) {
    if (accepted->has_value()) {
      pair.there = std::move(**accepted);
      return pair;
    }
  }
}

TEST(SocketAddress, ReadsWhatItWrites) {
  for (const std::string text :
       {"127.0.0.1:80", "10.20.30.40:65535", "[::1]:4711", "[2001:db8::5]:1", "0.0.0.0:0"}) {
    auto address = SocketAddress::parse(text);
    ASSERT_TRUE(address.ok()) << address.status().message();
    EXPECT_EQ(address->text(), text);
    sockaddr_storage raw;
    EXPECT_GT(address->to_raw(raw), 0u);
    EXPECT_EQ(*SocketAddress::from(reinterpret_cast<sockaddr*>(&raw)), *address);
  }
  EXPECT_EQ(SocketAddress::parse("localhost:5")->port(), 5);
  EXPECT_TRUE(SocketAddress::parse("localhost:5")->is_loopback());
}

TEST(SocketAddress, KeepsTheInterfaceOfALinkLocalAddress) {
  const auto address = SocketAddress::parse("[fe80::1%lo]:9");
  ASSERT_TRUE(address.ok()) << address.status().message();
  EXPECT_EQ(address.value().text(), "[fe80::1%lo]:9");
}

TEST(SocketAddress, RefusesWithASentence) {
  for (const char* text : {"", ":", "80", "1.2.3.4", "1.2.3.4:", "1.2.3.4:65536", "1.2.3.4:-1", "1.2.3.4:80x",
                           "::1:80", "[::1]", "[::1:80", "[]:80", ":80"}) {
    const Status status = SocketAddress::parse(text).status();
    EXPECT_EQ(status.code(), Code::invalid_argument) << text;
    EXPECT_THAT(status.message(), HasSubstr(fmt::format("\"{}\"", text)));
  }
  EXPECT_THAT(SocketAddress::parse("no-such-host.invalid:1").status().message(),
              HasSubstr("no-such-host.invalid"));
}

TEST(SocketAddress, ComparesByAllParts) {
  EXPECT_EQ(*SocketAddress::parse("1.2.3.4:5"), *SocketAddress::parse("1.2.3.4:5"));
  EXPECT_NE(*SocketAddress::parse("1.2.3.4:5"), *SocketAddress::parse("1.2.3.4:6"));
  EXPECT_NE(*SocketAddress::parse("1.2.3.4:5"), *SocketAddress::parse("1.2.3.5:5"));
  EXPECT_NE(SocketAddress::loopback(AF_INET, 5), SocketAddress::loopback(AF_INET6, 5));
  EXPECT_FALSE(SocketAddress().valid());
}

TEST(Socket, CarriesBytesBothWaysOnBothFamilies) {
  for (const int family : testing::families()) {
    const SocketPair pair = connect_pair(family);
    Bytes sent(3'000'000);
    for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i * 31);
    Bytes received(sent.size());
    std::thread sender([&] { EXPECT_TRUE(pair.here.send_all(sent, Deadline::in_ms(20'000)).ok()); });
    EXPECT_TRUE(receive_all(pair.there, received, Deadline::in_ms(20'000)).ok());
    sender.join();
    EXPECT_EQ(sent, received);
    EXPECT_EQ(*pair.there.try_recv(received), 0u);
    EXPECT_EQ(pair.here.peer_text(), address_of(pair.there).text());
  }
}

/// More than a connection takes on loopback while the other side does not read.
constexpr size_t kMoreThanBuffers = 64 << 20;

TEST(Socket, AWaitEndsWithItsDeadline) {
  const SocketPair pair = connect_pair(AF_INET);
  const Status status = pair.here.send_all(Bytes(kMoreThanBuffers), Deadline::in_ms(30));
  EXPECT_EQ(status.code(), Code::remote_error);
  EXPECT_THAT(status.message(), HasSubstr("no answer in time"));
}

TEST(Socket, AWaitEndsWithTheAbortFlag) {
  const SocketPair pair = connect_pair(AF_INET);
  std::atomic<bool> abort{false};
  std::thread aborter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    abort = true;
  });
  const Status status = pair.here.send_all(Bytes(kMoreThanBuffers), Deadline::never(&abort));
  aborter.join();
  EXPECT_EQ(status.code(), Code::invalid_usage);
  EXPECT_THAT(status.message(), HasSubstr("aborted"));
}

TEST(Socket, TheEndOfTheOtherSideIsAnError) {
  SocketPair pair = connect_pair(AF_INET);
  ASSERT_TRUE(pair.there.send_all(Bytes(2), Deadline::in_ms(1000)).ok());
  pair.there.close();
  std::array<std::byte, 4> into;
  const Status status = receive_all(pair.here, into, Deadline::in_ms(5000));
  EXPECT_EQ(status.code(), Code::remote_error);
  EXPECT_THAT(status.message(), HasSubstr("closed by the other side"));
}

TEST(Socket, SendingToNobodyRaisesNoSignal) {
  SocketPair pair = connect_pair(AF_INET);
  pair.there.close();
  Status status;
  while (status.ok()) status = pair.here.send_all(Bytes(100'000), Deadline::in_ms(5000));
  EXPECT_EQ(status.code(), Code::remote_error);
}

TEST(Socket, NobodyThereIsRefused) {
  Socket listener = listen_at(AF_INET);
  const SocketAddress address = address_of(listener);
  listener.close();
  const Status status = Socket::connect(address, Deadline::in_ms(5000)).status();
  EXPECT_EQ(status.code(), Code::remote_error);
  EXPECT_THAT(status.message(), AllOf(HasSubstr(address.text()), HasSubstr("refused")));
  auto started = Socket::start_connect(address);
  if (!started.ok()) return;
  Result<bool> done = false;
  while (done.ok() && !*done) done = started->connected();
  EXPECT_EQ(done.status().code(), Code::remote_error);
}

TEST(Socket, APortInUseIsNamed) {
  const Socket listener = listen_at(AF_INET);
  const Status status = Socket::listen(address_of(listener)).status();
  EXPECT_EQ(status.code(), Code::invalid_usage);
  EXPECT_THAT(status.message(), AllOf(HasSubstr(fmt::format("port {}", address_of(listener).port())),
                                      HasSubstr("already used")));
}

TEST(Socket, AnAddressOfAnotherHostIsRefused) {
  const Status status = Socket::listen(*SocketAddress::parse("192.0.2.1:0")).status();
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_THAT(status.message(), HasSubstr("192.0.2.1"));
}

TEST(Socket, WithoutDescriptorsThisProcessIsBlamed) {
  const std::string said = testing::in_child([] {
    testing::allow_no_descriptors();
    const Status status = Socket::start_connect(SocketAddress::loopback(AF_INET, 80)).status();
    return std::string(status.is_shortage() ? "shortage: " : "") + status.message();
  });
  EXPECT_EQ(said.rfind("shortage: cannot make a socket: this process has no file descriptors left", 0), 0u)
      << said;
}

TEST(SocketAddress, OfAnotherProcessIsNoName) {
  EXPECT_TRUE(SocketAddress::parse_numeric("127.0.0.1:80").ok());
  EXPECT_TRUE(SocketAddress::parse_numeric("[::1]:80").ok());
  EXPECT_TRUE(SocketAddress::parse("localhost:80").ok());
  EXPECT_FALSE(SocketAddress::parse_numeric("localhost:80").ok());
}

TEST(Socket, MovesAndClosesItsDescriptor) {
  const auto count = [] {
    using Iterator = std::filesystem::directory_iterator;
    return std::distance(Iterator("/proc/self/fd"), Iterator());
  };
  const auto before = count();
  {
    Socket first = listen_at(AF_INET);
    Socket second = std::move(first);
    EXPECT_FALSE(first.valid());
    first = listen_at(AF_INET);
    second = std::move(first);
    EXPECT_TRUE(second.valid());
    EXPECT_EQ(count(), before + 1);
  }
  EXPECT_EQ(count(), before);
}

}  // namespace
}  // namespace weir
