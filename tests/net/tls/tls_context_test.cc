// SPDX-License-Identifier: Apache-2.0

#include "src/net/tls/tls_context.h"

#include <fstream>

#include "tests/net/tls/test_certificates.h"
#include "tests/net/tls/tls_peers.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::TestCertificates;

class TlsContextFiles : public testing::TlsTest {
 protected:
  void SetUp() override {
    TlsTest::SetUp();
    if (IsSkipped()) return;
    if (!testing::has_openssl_program()) GTEST_SKIP() << "the program openssl is missing";
    ASSERT_TRUE(files_.make_authority("ca") && files_.issue("rank", "ca") && files_.issue("other", "ca"));
    settings_ = files_.settings("rank", "ca");
    std::ofstream(files_.file("text")) << "no certificate\n";
  }

  std::string refusal() {
    const auto context = TlsContext::make(settings_);
    EXPECT_EQ(context.status().code(), Code::invalid_argument);
    return context.status().message();
  }

  TestCertificates files_;
  TlsSettings settings_;
};

TEST_F(TlsContextFiles, GoodOnesAreTaken) {
  const auto context = TlsContext::make(settings_);
  ASSERT_TRUE(context.ok()) << context.status().message();
  EXPECT_EQ((*context)->mode(), TlsSettings::Mode::cert);
}

TEST_F(TlsContextFiles, AMissingOneIsNamed) {
  settings_.certificate_file = "/nowhere/a.pem";
  EXPECT_THAT(refusal(), AllOf(HasSubstr("WEIR_TLS_CERT=\"/nowhere/a.pem\""), HasSubstr("No such file")));
  settings_ = files_.settings("rank", "ca");
  settings_.key_file = "/nowhere/a.key";
  EXPECT_THAT(refusal(), AllOf(HasSubstr("WEIR_TLS_KEY=\"/nowhere/a.key\""), HasSubstr("No such file")));
  settings_ = files_.settings("rank", "ca");
  settings_.authority_file = "/nowhere/ca.pem";
  EXPECT_THAT(refusal(), AllOf(HasSubstr("WEIR_TLS_CA=\"/nowhere/ca.pem\""), HasSubstr("No such file")));
}

TEST_F(TlsContextFiles, OtherContentsAreRefused) {
  settings_.certificate_file = files_.file("text");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("WEIR_TLS_CERT"), HasSubstr("PEM")));
  settings_ = files_.settings("rank", "ca");
  settings_.authority_file = files_.file("text");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("WEIR_TLS_CA"), HasSubstr("PEM")));
}

TEST_F(TlsContextFiles, AKeyOfAnotherCertificateIsRefused) {
  settings_.key_file = files_.file("other.key");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("WEIR_TLS_KEY"), HasSubstr("mismatch")));
}

TEST_F(TlsContextFiles, AKeyWithAPasswordIsRefusedWithoutAQuestion) {
  ASSERT_TRUE(files_.run("ec -in " + files_.file("rank.key") + " -aes128 -passout pass:secret -out " +
                         files_.file("locked.key")));
  settings_.key_file = files_.file("locked.key");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("WEIR_TLS_KEY"), HasSubstr("without a password")));
}

class TlsContextSecret : public testing::TlsTest {};

TEST_F(TlsContextSecret, AnEmptyOneIsRefused) {
  TlsSettings settings;
  settings.mode = TlsSettings::Mode::psk;
  const auto context = TlsContext::make(settings);
  EXPECT_EQ(context.status().code(), Code::invalid_argument);
  EXPECT_THAT(context.status().message(), AllOf(HasSubstr("0 bytes"), HasSubstr("at least 32")));
}

}  // namespace
}  // namespace weir
