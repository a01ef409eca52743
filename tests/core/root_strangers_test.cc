// SPDX-License-Identifier: Apache-2.0
// What a bootstrap root does with those who have no secret, and a rank with a root that has none.

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "src/core/bootstrap/root_wire.h"
#include "tests/core/rank.h"
#include "tests/core/status_words.h"
#include "tests/net/receive.h"

namespace weir::core::strangers {
namespace {

using root_wire::Hello;
using root_wire::Welcome;
using root_wire::Word;
using ::testing::HasSubstr;
using testing::Site;
using testing::words;

Deadline soon() { return Deadline::in_ms(20'000); }

/// The next frame of the other side; empty if it closes the connection before.
Bytes next_frame(Frames& frames) {
  for (const Deadline deadline = soon(); !deadline.over();) {
    const Status status = frames.receive();
    if (auto frame = frames.next()) return *frame;
    if (!status.ok()) return {};
    wait_for(frames.socket().fd(), POLLIN, deadline.within_ms(20));
  }
  ADD_FAILURE() << "no frame in time";
  return {};
}

class RootStrangers : public ::testing::Test {
 protected:
  Site site_;
  UniqueId id_ = *site_.roots.make_id(SocketAddress::loopback(AF_INET, 0), {});

  Frames connect() const { return Frames(std::move(*Socket::connect(id_.root, soon()))); }
  Hello hello() const {
    Hello hello;
    hello.nonce = id_.nonce;
    hello.rank = 0;
    hello.ranks = 1;
    hello.peer = {site_.listener->address(), 1, 4711, "elsewhere"};
    return hello;
  }
  std::string join() { return words(Bootstrap::join(site_.spec(id_, 1, 0)).status()); }
};

TEST_F(RootStrangers, WhoHasNoSecretIsRefused) {
  for (const Secret& wrong : {Secret(), Secret::from_text("a guess")}) {
    Frames stranger = connect();
    Hello said = hello();
    said.ranks = INT32_MAX;
    said.prove(wrong, root_wire::decode_challenge(next_frame(stranger)).value());
    stranger.send(said.encode());
    EXPECT_EQ(root_wire::word_of(next_frame(stranger)), Word::refused);
    EXPECT_TRUE(next_frame(stranger).empty()) << "closed";
  }
  EXPECT_EQ(join(), "ok");
}

TEST_F(RootStrangers, AProofIsWorthNothingOnAnotherConnection) {
  Frames first = connect();
  Hello said = hello();
  said.ranks = 2;
  said.prove(id_.secret, root_wire::decode_challenge(next_frame(first)).value());
  Frames second = connect();
  (void)next_frame(second);
  second.send(said.encode());
  EXPECT_EQ(root_wire::word_of(next_frame(second)), Word::refused) << "a replay";
  EXPECT_EQ(join(), "ok");
}

TEST_F(RootStrangers, AClaimOfTooManyRanksIsAnError) {
  Frames rank = connect();
  Hello said = hello();
  said.ranks = INT32_MAX;
  said.prove(id_.secret, root_wire::decode_challenge(next_frame(rank)).value());
  rank.send(said.encode());
  EXPECT_EQ(root_wire::word_of(next_frame(rank)), Word::welcome);
  const Bytes failed = next_frame(rank);
  ASSERT_EQ(root_wire::word_of(failed), Word::failed);
  EXPECT_THAT(root_wire::decode_failed(failed).message(),
              HasSubstr("expected 0 <= rank < nranks <= 1048576"));
}

TEST_F(RootStrangers, WhoKeepsSendingIsSentAway) {
  const auto flood = Socket::connect(id_.root, soon());
  ASSERT_TRUE(flood.ok());
  const Bytes much(1 << 20, std::byte{0x11});
  Status status;
  for (const Deadline deadline = soon(); status.ok() && !deadline.over();)
    status = flood->send_all(much, deadline);
  EXPECT_EQ(status.code(), Code::remote_error);
  EXPECT_EQ(join(), "ok");
}

TEST_F(RootStrangers, WhoSaysNothingDoesNotKeepRanksOut) {
  std::vector<Socket> mute;
  for (int i = 0; i < 600; ++i) mute.push_back(std::move(*Socket::connect(id_.root, soon())));
  EXPECT_EQ(join(), "ok");
}

/// A process that has taken the address of a root, and answers each hello.
class FalseRoot {
 public:
  explicit FalseRoot(Bytes answer) : answer_(std::move(answer)), thread_([this] { serve(); }) {}
  ~FalseRoot() {
    stop_ = true;
    thread_.join();
  }
  SocketAddress address() const { return *listener_.local_address(); }

 private:
  void serve() {
    std::vector<Frames> all;
    while (!stop_) {
      wait_for(listener_.fd(), POLLIN, Deadline::in_ms(5));
      if (auto accepted = listener_.accept(); accepted->has_value())
        all.emplace_back(std::move(**accepted)).send(root_wire::encode_challenge({}));
      for (Frames& frames : all) {
        (void)frames.receive();
        if (frames.next()) frames.send(answer_);
      }
    }
  }

  const Bytes answer_;
  const Socket listener_ = std::move(*Socket::listen(SocketAddress::loopback(AF_INET, 0)));
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST(RootLink, DoesNotBelieveARootWithoutTheSecret) {
  const Status error(Code::internal_error, "an invented failure");
  for (const Bytes& answer :
       {root_wire::encode_failed(error), Welcome{}.encode(), root_wire::say(Word::ping)}) {
    const FalseRoot root(answer);
    Site site;
    const UniqueId id{root.address(), 5, false, Secret::from_text("of the job")};
    const Status status = Bootstrap::join(site.spec(id, 1, 0)).status();
    EXPECT_EQ(status.code(), Code::remote_error);
    EXPECT_THAT(status.message(),
                ::testing::AnyOf(HasSubstr("does not know the secret"), HasSubstr("has another secret")));
    EXPECT_THAT(status.message(), HasSubstr("may have ended, and this one have its port"));
  }
}

TEST(RootLink, RanksWithAnotherSecretDoNotMeet) {
  const SocketAddress address = testing::quiet_address();
  Site site({.init_ms = 1000});
  const UniqueId right = Roots::fixed_id(address, Secret::from_text("right"));
  const Status started = site.roots.start_fixed(right, right.secret, site.timeouts, nullptr);
  ASSERT_TRUE(started.ok()) << started.message();
  const UniqueId wrong = Roots::fixed_id(address, Secret::from_text("wrong"));
  const Status status = Bootstrap::join(site.spec(wrong, 2, 1)).status();
  EXPECT_EQ(status.code(), Code::remote_error);
  EXPECT_THAT(status.message(), HasSubstr("expected the same WEIR_SECRET or WEIR_SECRET_FILE on all ranks"));
}

}  // namespace
}  // namespace weir::core::strangers
