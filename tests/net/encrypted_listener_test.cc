// SPDX-License-Identifier: Apache-2.0
// Connections to a listener of a job that encrypts them.

#include <gmock/gmock.h>

#include <thread>

#include "src/net/listener/incoming_connection.h"
#include "src/net/listener/listener.h"
#include "src/net/listener/message_connection.h"
#include "src/net/listener/outgoing_connection.h"
#include "tests/net/tls/tls_peers.h"

namespace weir::encrypted {
namespace {

using listener_wire::HelloKind;
using ::testing::HasSubstr;
using testing::pattern;

constexpr uint64_t kJobKey = 0xfeed'beef;
constexpr DeliveryKey kKey{kJobKey << 32 | 5, 1, 2, 3};
const Secret kSecret = Secret::from_text("of the job");

Deadline soon() { return Deadline::in_ms(60'000); }

class EncryptedListener : public testing::TlsTest {
 protected:
  void SetUp() override {
    TlsTest::SetUp();
    if (IsSkipped()) return;
    TlsSettings settings;
    settings.mode = TlsSettings::Mode::psk;
    job_ = *Credentials::make(kSecret, settings);
    auto opened = Listener::open(SocketAddress::loopback(AF_INET, 0), [](uint64_t scope, BytesView question) {
      return ByteWriter().put(scope).put_bytes(question).take();
    });
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    listener_ = std::move(*opened);
    listener_->admit(kJobKey, job_);
  }

  Credentials job_;
  std::unique_ptr<Listener> listener_;
};

TEST_F(EncryptedListener, TakesMessages) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{5'000'000}}) {
    const Bytes message = pattern(size);
    const Status posted = post(listener_->address(), kKey, job_, message, soon());
    ASSERT_TRUE(posted.ok()) << posted.message();
    EXPECT_EQ(listener_->receive(kKey, soon()), message) << size;
  }
}

TEST_F(EncryptedListener, TakesManyMessagesOverOneConnection) {
  constexpr uint32_t kMessages = 2000;
  MessageConnection connection(listener_->address(), job_);
  for (uint32_t i = 0; i < kMessages; ++i) {
    const Status sent = connection.send(kKey, pattern(i % 100 == 0 ? 100 * i : i % 7), soon());
    ASSERT_TRUE(sent.ok()) << sent.message();
  }
  for (uint32_t i = 0; i < kMessages; ++i)
    ASSERT_EQ(listener_->receive(kKey, soon()), pattern(i % 100 == 0 ? 100 * i : i % 7)) << i;
}

/// One end of a message connection that ends in order, or with a message dropped.
TEST_F(EncryptedListener, ADroppedMessageIsToldFromAnEndInOrder) {
  const Socket fake = std::move(*Socket::listen(SocketAddress::loopback(AF_INET, 0)));
  AdmittedJobs jobs;
  jobs.admit(kJobKey, job_);
  for (const bool drops : {false, true}) {
    std::thread listens([&] {
      wait_for(fake.fd(), POLLIN, soon());
      IncomingConnection incoming(std::move(**fake.accept()), *fake.local_address(), 0);
      while (incoming.advance(jobs, {}) == IncomingConnection::Step::waits)
        wait_for(incoming.socket().fd(), incoming.waits_for(), soon());
      if (drops) incoming.reset();
    });
    MessageConnection connection(*fake.local_address(), job_);
    EXPECT_TRUE(connection.send(kKey, {}, soon()).ok());
    listens.join();
    listens = std::thread([&] {
      wait_for(fake.fd(), POLLIN, drops ? Deadline::in_ms(0) : soon());
      auto next = fake.accept();
      EXPECT_EQ((*next).has_value(), !drops);
      if (drops || !next->has_value()) return;
      IncomingConnection incoming(std::move(**next), *fake.local_address(), 0);
      while (incoming.advance(jobs, {}) == IncomingConnection::Step::waits)
        wait_for(incoming.socket().fd(), incoming.waits_for(), soon());
      EXPECT_EQ(incoming.body(), pattern(9));
    });
    const Status sent = connection.send(kKey, pattern(9), soon());
    listens.join();
    EXPECT_EQ(sent.ok(), !drops) << sent.message();
    if (drops) {
      EXPECT_THAT(sent.message(), HasSubstr("has dropped a message"));
    }
  }
}

TEST_F(EncryptedListener, AnswersQuestions) {
  const Bytes question = pattern(1'000'000);
  const Answer answer = ask(listener_->address(), kKey.scope, job_, question, soon());
  ASSERT_EQ(answer.kind, Answer::Kind::given) << answer.why;
  EXPECT_EQ(answer.bytes, ByteWriter().put(kKey.scope).put_bytes(question).take());
}

TEST_F(EncryptedListener, DeliversConnectionsThatCarryBytesBothWays) {
  auto near = deliver(listener_->address(), kKey, job_, soon());
  ASSERT_TRUE(near.ok()) << near.status().message();
  std::optional<PeerSocket> far;
  for (const Deadline deadline = soon(); !far && !deadline.over();) far = listener_->collect(kKey);
  ASSERT_TRUE(far.has_value());
  EXPECT_TRUE(near->is_secured() && far->is_secured());
  const Bytes there = pattern(3'000'000), back = pattern(2'000'000);
  Bytes got_there(there.size()), got_back(back.size());
  std::thread other([&] {
    EXPECT_TRUE(receive_all(*far, got_there, soon()).ok());
    EXPECT_TRUE(send_all(*far, back, soon()).ok());
  });
  EXPECT_TRUE(send_all(*near, there, soon()).ok());
  EXPECT_TRUE(receive_all(*near, got_back, soon()).ok());
  other.join();
  EXPECT_EQ(got_there, there);
  EXPECT_EQ(got_back, back);
}

/// Who knows the secret but does not encrypt is heard no further than to its proof.
TEST_F(EncryptedListener, HearsNobodyInTheClear) {
  (void)post(listener_->address(), kKey, kSecret, pattern(100), soon());
  EXPECT_NE(ask(listener_->address(), kKey.scope, kSecret, pattern(100), soon()).kind, Answer::Kind::given);
  EXPECT_EQ(listener_->receive(kKey, Deadline::in_ms(0)), std::nullopt);
}

TEST_F(EncryptedListener, WhoEncryptsDoesNotSpeakToOneThatDoesNot) {
  auto plain = Listener::open(SocketAddress::loopback(AF_INET, 0), nullptr);
  ASSERT_TRUE(plain.ok());
  (*plain)->admit(kJobKey, kSecret);
  const Status posted = post((*plain)->address(), kKey, job_, pattern(100), Deadline::in_ms(2'000));
  EXPECT_EQ(posted.code(), Code::remote_error);
  EXPECT_NE((*plain)->receive(kKey, Deadline::in_ms(0)), pattern(100));
}

/// Reports of such a job do not go over TCP: their readers have no key.
TEST_F(EncryptedListener, GivesNoReportsInTheClear) {
  const ReportSource source{listener_->address(), {kJobKey, report_secret(kSecret)}};
  const Answer answer = ask_for_reports({&source, 1}, {}, soon()).front();
  EXPECT_NE(answer.kind, Answer::Kind::given);
}

/// Asks by hand: what the listener answers within TLS that is bound to `binding`, or to the hello's proof.
Status ask_by_hand(const Listener& listener, const Credentials& job, const std::optional<Proof>& binding) {
  PeerSocket socket(std::move(*Socket::connect(listener.address(), soon())));
  Bytes opening(listener_wire::Opening::kBytes), verdict(listener_wire::Verdict::kBytes), size(4);
  WEIR_TRY(receive_all(socket, opening, soon()));
  listener_wire::Hello hello{HelloKind::question, 0, kKey, *random_challenge(), {}};
  hello.prove(job.secret, listener_wire::Opening::decode(opening)->challenge, listener.address());
  WEIR_TRY(send_all(socket, hello.encode(), soon()));
  WEIR_TRY(receive_all(socket, verdict, soon()));
  WEIR_TRY(socket.secure(job.tls, TlsRole::connects, binding.value_or(hello.proof)));
  return receive_all(socket, size, soon());
}

/// Somebody in between could join the encrypted part of one connection to the plain beginning of another.
TEST_F(EncryptedListener, RefusesTheEncryptedPartOfAnotherConnection) {
  EXPECT_TRUE(ask_by_hand(*listener_, job_, std::nullopt).ok());
  EXPECT_EQ(ask_by_hand(*listener_, job_, Proof{}).code(), Code::remote_error);
}

}  // namespace
}  // namespace weir::encrypted
