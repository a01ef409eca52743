// SPDX-License-Identifier: Apache-2.0

#include "src/net/tls/credentials.h"

#include "tests/net/tls/tls_peers.h"

namespace weir {
namespace {

using testing::begin_peers;
using testing::greet;

class CredentialsTest : public testing::TlsTest {};

TlsSettings psk() {
  TlsSettings settings;
  settings.mode = TlsSettings::Mode::psk;
  return settings;
}

std::shared_ptr<const TlsContext> context_of_job(std::string_view job) {
  const auto made = Credentials::make(Secret::from_text(job), psk());
  EXPECT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->mode(), TlsSettings::Mode::psk);
  return made->tls;
}

bool agree(std::string_view one, std::string_view other) {
  const testing::Peers peers = begin_peers(context_of_job(one), context_of_job(other));
  const testing::Outcome outcome = greet(*peers.connecting, *peers.accepting);
  return outcome.connecting.ok() && outcome.accepting.ok();
}

TEST_F(CredentialsTest, WithoutEncryptionThereIsNoContext) {
  const auto made = Credentials::make(Secret::from_text("a job"), {});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->tls, nullptr);
  EXPECT_EQ(made->mode(), TlsSettings::Mode::off);
  EXPECT_EQ(made->secret, Secret::from_text("a job"));
}

TEST_F(CredentialsTest, TheSecretOfTheJobIsTheKey) {
  EXPECT_TRUE(agree("a job", "a job"));
  EXPECT_FALSE(agree("a job", "another job"));
}

TEST_F(CredentialsTest, ASecretThatEverybodyKnowsIsNoKey) {
  const Status refused = Credentials::make(Secret(), psk()).status();
  EXPECT_EQ(refused.code(), Code::invalid_usage);
  EXPECT_THAT(refused.message(), ::testing::HasSubstr("expected the same WEIR_SECRET"));
}

}  // namespace
}  // namespace weir
