// SPDX-License-Identifier: Apache-2.0

#include "src/net/tls/tls_settings.h"

#include <gmock/gmock.h>

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Mode = TlsSettings::Mode;

std::string refusal(const std::string& mode, const std::string& cert = "", const std::string& key = "",
                    const std::string& ca = "") {
  const auto settings = TlsSettings::parse(mode, cert, key, ca);
  EXPECT_EQ(settings.status().code(), Code::invalid_argument);
  return settings.status().message();
}

TEST(TlsSettings, HasThreeModes) {
  EXPECT_EQ(TlsSettings::parse("", "", "", "")->mode, Mode::off);
  EXPECT_FALSE(TlsSettings::parse("off", "", "", "")->on());
  EXPECT_EQ(TlsSettings::parse("psk", "", "", "")->mode, Mode::psk);
  const auto cert = TlsSettings::parse("cert", "a.pem", "a.key", "ca.pem");
  ASSERT_TRUE(cert.ok()) << cert.status().message();
  EXPECT_TRUE(cert->on());
  EXPECT_EQ(cert->certificate_file, "a.pem");
  EXPECT_EQ(cert->key_file, "a.key");
  EXPECT_EQ(cert->authority_file, "ca.pem");
}

TEST(TlsSettings, AnotherModeIsRefusedWithItsValue) {
  for (const char* word : {"on", "1", "PSK", " psk", "tls"})
    EXPECT_THAT(refusal(word),
                AllOf(HasSubstr('"' + std::string(word) + '"'), HasSubstr("off, psk or cert")));
}

TEST(TlsSettings, CertificatesNeedAllThreeFiles) {
  EXPECT_THAT(refusal("cert", "", "k", "c"), AllOf(HasSubstr("WEIR_TLS_CERT"), HasSubstr("not set")));
  EXPECT_THAT(refusal("cert", "a", "", "c"), AllOf(HasSubstr("WEIR_TLS_KEY"), HasSubstr("not set")));
  EXPECT_THAT(refusal("cert", "a", "k", ""), AllOf(HasSubstr("WEIR_TLS_CA"), HasSubstr("not set")));
}

TEST(TlsSettings, FilesWithoutCertificatesAreNotIgnored) {
  EXPECT_THAT(refusal("off", "a.pem"),
              AllOf(HasSubstr("WEIR_TLS_CERT is \"a.pem\""), HasSubstr("WEIR_TLS is off")));
  EXPECT_THAT(refusal("", "", "a.key"), AllOf(HasSubstr("WEIR_TLS_KEY"), HasSubstr("WEIR_TLS=cert")));
  EXPECT_THAT(refusal("psk", "", "", "ca.pem"),
              AllOf(HasSubstr("WEIR_TLS_CA"), HasSubstr("WEIR_TLS is psk")));
}

TEST(TlsSettings, AShortSecretIsRefused) {
  const auto settings = TlsSettings::with_secret(Bytes(kLeastTlsSecret - 1));
  EXPECT_EQ(settings.status().code(), Code::invalid_argument);
  EXPECT_THAT(settings.status().message(), AllOf(HasSubstr("31 bytes"), HasSubstr("at least 32")));
  EXPECT_EQ(TlsSettings::with_secret(Bytes(100))->secret.size(), 100u);
}

}  // namespace
}  // namespace weir
