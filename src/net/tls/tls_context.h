// SPDX-License-Identifier: Apache-2.0
/// What all encrypted connections of a process share: keys and certificates, loaded and checked once.
///
/// TLS 1.3 alone, AES-128-GCM first; no renegotiation, session tickets, resumption or early data.
///
/// With a secret (psk), both sides prove that they know it, and each connection gets keys of its own: who
/// learns the secret later cannot read what was recorded before. With certificates (cert), both sides show
/// one, and each checks that the other's is signed by the authority, and valid today. Names in certificates
/// are not compared with hosts: who the authority has signed for is a member of the job, so it has to be an
/// authority for this purpose. Lists of revoked certificates are not consulted.
///
/// Thread safety: any thread may begin sessions at any time. Sessions keep their context alive.
/// Tests: tests/net/tls/tls_context_test.cc, tests/net/tls/tls_handshake_test.cc
#pragma once

#include <array>
#include <memory>
#include <mutex>

#include "src/drivers/openssl.h"
#include "src/net/tls/tls_settings.h"

namespace weir {

/// Who begins the handshake: the side that has connected.
enum class TlsRole : uint8_t { connects, accepts };

class TlsContext {
 public:
  /// Loads OpenSSL and the files. REQUIRES: settings.on(). invalid_argument if a file or the secret cannot be
  /// used, with the file and OpenSSL's reason; system_error if OpenSSL is missing.
  static Result<std::shared_ptr<const TlsContext>> make(const TlsSettings& settings);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  TlsSettings::Mode mode() const { return mode_; }
  const drivers::OpenSslTable& openssl() const { return openssl_; }
  /// A new object for one connection, or null. It refers to this context.
  drivers::Ssl* new_ssl(TlsRole role) const;
  /// The BIO method that reads and writes through a TlsWire.
  const drivers::SslBioMethod* wire_method() const { return wire_method_; }
  /// To be held during a step of a handshake. Steps with certificates are taken one after the other: OpenSSL
  /// adds to the certificates, which all connections share, what it derives from them, and orders that by
  /// means that a thread sanitizer does not see.
  std::unique_lock<std::mutex> lock_step() const {
    return mode_ == TlsSettings::Mode::cert ? std::unique_lock(steps_) : std::unique_lock<std::mutex>();
  }

 private:
  TlsContext(const drivers::OpenSslTable& openssl, TlsSettings::Mode mode);

  Status set_up(const TlsSettings& settings);
  void use_tls13_alone();
  Status use_secret(BytesView secret);
  Status use_certificates(const TlsSettings& settings);

  drivers::SslSession* new_session(drivers::Ssl* ssl) const;
  static int offer_secret(drivers::Ssl* ssl, const drivers::SslDigest* digest, const unsigned char** identity,
                          size_t* length, drivers::SslSession** session);
  static int find_secret(drivers::Ssl* ssl, const unsigned char* identity, size_t length,
                         drivers::SslSession** session);

  const drivers::OpenSslTable& openssl_;
  const TlsSettings::Mode mode_;
  drivers::SslContext* const context_;
  const drivers::SslBioMethod* wire_method_ = nullptr;
  std::array<unsigned char, 32> key_{};  ///< psk: derived from the secret
  mutable std::mutex steps_;             ///< cert: lock_step()
};

}  // namespace weir
