// SPDX-License-Identifier: Apache-2.0

#include "src/net/tls/tls_context.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <string_view>

#include "src/net/tls/tls_failure.h"
#include "src/net/tls/tls_wire.h"

namespace weir {
namespace {

using drivers::OpenSslTable;
using drivers::Ssl;
using drivers::SslDigest;
using drivers::SslSession;
namespace numbers = drivers::openssl;

constexpr const char* kSuites = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
constexpr const char* kGroups = "X25519:P-256";
constexpr std::string_view kIdentity = "weir";
/// Keeps the key apart from others that are made of the same secret.
constexpr std::string_view kKeyLabel = "weir tls 1.3 pre-shared key";
/// The suite of the key, whose digest is the one that OpenSSL assumes for external keys.
constexpr unsigned char kKeySuite[2] = {0x13, 0x01};  // TLS_AES_128_GCM_SHA256
constexpr size_t kReadBuffer = 64 * 1024;

/// Keys with a password are refused: OpenSSL would ask for it at the terminal.
int no_password(char*, int, int, void*) { return -1; }

}  // namespace

Result<std::shared_ptr<const TlsContext>> TlsContext::make(const TlsSettings& settings) {
  const Result<const OpenSslTable*> openssl = drivers::load_openssl();
  WEIR_TRY(openssl.status());
  openssl.value()->clear_errors();
  const std::shared_ptr<TlsContext> context(new TlsContext(*openssl.value(), settings.mode));
  const Status status = context->set_up(settings);
  openssl.value()->clear_errors();
  WEIR_TRY(status);
  return std::shared_ptr<const TlsContext>(context);
}

TlsContext::TlsContext(const OpenSslTable& openssl, TlsSettings::Mode mode)
    : openssl_(openssl), mode_(mode), context_(openssl.context_new(openssl.tls_method())) {}

TlsContext::~TlsContext() {
  openssl_.context_free(context_);
  explicit_bzero(key_.data(), key_.size());
}

Status TlsContext::set_up(const TlsSettings& settings) {
  wire_method_ = TlsWire::method(openssl_);
  if (context_ == nullptr || wire_method_ == nullptr)
    return {Code::system_error, "OpenSSL cannot make a context for TLS: " + first_tls_reason(openssl_)};
  use_tls13_alone();
  return mode_ == TlsSettings::Mode::psk ? use_secret(settings.secret) : use_certificates(settings);
}

void TlsContext::use_tls13_alone() {
  openssl_.context_ctrl(context_, numbers::kCtrlSetMinProtoVersion, numbers::kTls13, nullptr);
  openssl_.context_ctrl(context_, numbers::kCtrlSetMaxProtoVersion, numbers::kTls13, nullptr);
  openssl_.context_ctrl(context_, numbers::kCtrlSetGroupsList, 0, const_cast<char*>(kGroups));
  openssl_.context_set_suites(context_, kSuites);
  openssl_.context_set_options(context_, numbers::kOpNoTicket | numbers::kOpNoRenegotiation);
  openssl_.context_set_tickets(context_, 0);
  openssl_.context_ctrl(context_, numbers::kCtrlSetSessCacheMode, numbers::kSessCacheOff, nullptr);
  openssl_.context_ctrl(
      context_, numbers::kCtrlMode,
      numbers::kModeEnablePartialWrite | numbers::kModeAcceptMovingWriteBuffer | numbers::kModeReleaseBuffers,
      nullptr);
  // One system call reads several records.
  openssl_.context_ctrl(context_, numbers::kCtrlSetReadAhead, 1, nullptr);
  openssl_.context_set_read_buffer(context_, kReadBuffer);
  // With a secret, no certificate is trusted: a server cannot do without the secret by showing one.
  openssl_.context_set_verify(context_, numbers::kVerifyPeer | numbers::kVerifyFailIfNoPeerCert, nullptr);
  openssl_.context_set_password(context_, no_password);
}

Status TlsContext::use_secret(BytesView secret) {
  if (secret.size() < kLeastTlsSecret) return TlsSettings::with_secret(secret).status();
  unsigned length = 0;
  const unsigned char* made = openssl_.hmac(
      openssl_.sha256(), kKeyLabel.data(), static_cast<int>(kKeyLabel.size()),
      reinterpret_cast<const unsigned char*>(secret.data()), secret.size(), key_.data(), &length);
  if (made == nullptr || length != key_.size())
    return {Code::system_error, "OpenSSL cannot derive a key from the secret: " + first_tls_reason(openssl_)};
  openssl_.context_set_psk_use(context_, offer_secret);
  openssl_.context_set_psk_find(context_, find_secret);
  return {};
}

Status TlsContext::use_certificates(const TlsSettings& settings) {
  const auto refused = [&](const char* variable, const std::string& file, const char* expected) {
    return Status(Code::invalid_argument, fmt::format("{}=\"{}\" cannot be used: {}; expected {}", variable,
                                                      file, first_tls_reason(openssl_), expected));
  };
  if (openssl_.context_load_authority(context_, settings.authority_file.c_str()) != 1)
    return refused("WEIR_TLS_CA", settings.authority_file, "certificates of authorities in PEM format");
  if (openssl_.context_use_certificates(context_, settings.certificate_file.c_str()) != 1)
    return refused("WEIR_TLS_CERT", settings.certificate_file, "a certificate in PEM format");
  // Compares the key with the certificate, too.
  if (openssl_.context_use_key(context_, settings.key_file.c_str(), numbers::kFiletypePem) != 1) {
    return refused("WEIR_TLS_KEY", settings.key_file,
                   "the private key of WEIR_TLS_CERT in PEM format, without a password");
  }
  return {};
}

Ssl* TlsContext::new_ssl(TlsRole role) const {
  Ssl* const ssl = openssl_.ssl_new(context_);
  if (ssl == nullptr) return nullptr;
  openssl_.ssl_set_data(ssl, 0, const_cast<TlsContext*>(this));
  // Who accepts keys and checks certificates has to have an id, and who connects must not have one.
  const auto* const id = reinterpret_cast<const unsigned char*>(kIdentity.data());
  if (role == TlsRole::accepts) openssl_.ssl_set_id(ssl, id, static_cast<unsigned>(kIdentity.size()));
  return ssl;
}

/// The key in the form in which OpenSSL takes external keys: a session that was never held. The caller owns
/// it.
SslSession* TlsContext::new_session(Ssl* ssl) const {
  const drivers::SslCipher* const cipher = openssl_.cipher_find(ssl, kKeySuite);
  SslSession* const session = openssl_.session_new();
  if (session == nullptr || cipher == nullptr ||
      openssl_.session_set_key(session, key_.data(), key_.size()) != 1 ||
      openssl_.session_set_cipher(session, cipher) != 1 ||
      openssl_.session_set_version(session, numbers::kTls13) != 1) {
    openssl_.session_free(session);
    return nullptr;
  }
  return session;
}

int TlsContext::offer_secret(Ssl* ssl, const SslDigest* digest, const unsigned char** identity,
                             size_t* length, SslSession** session) {
  const OpenSslTable& openssl = *drivers::load_openssl().value();
  const auto* const self = static_cast<const TlsContext*>(openssl.ssl_get_data(ssl, 0));
  *session = nullptr;
  // A server that has chosen a suite with another digest cannot take the key; the handshake fails without it.
  if (digest != nullptr && digest != openssl.sha256()) return 1;
  *session = self->new_session(ssl);
  *identity = reinterpret_cast<const unsigned char*>(kIdentity.data());
  *length = kIdentity.size();
  return *session != nullptr ? 1 : 0;
}

int TlsContext::find_secret(Ssl* ssl, const unsigned char* identity, size_t length, SslSession** session) {
  const OpenSslTable& openssl = *drivers::load_openssl().value();
  const auto* const self = static_cast<const TlsContext*>(openssl.ssl_get_data(ssl, 0));
  *session = nullptr;
  if (!std::equal(identity, identity + length, kIdentity.begin(), kIdentity.end())) return 1;
  *session = self->new_session(ssl);
  return *session != nullptr ? 1 : 0;
}

}  // namespace weir
