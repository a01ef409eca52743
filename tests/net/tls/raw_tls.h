// SPDX-License-Identifier: Apache-2.0
/// A peer that uses OpenSSL without the rules of TlsContext, as a stranger might.
#pragma once

#include "src/net/tls/tls_wire.h"
#include "tests/net/tls/tls_peers.h"

namespace weir::testing {

class RawTls {
 public:
  /// Begins without a secret and without certificates. `version`: the only version that it offers.
  RawTls(const drivers::OpenSslTable& openssl, Socket socket, int version)
      : openssl_(openssl), socket_(std::move(socket)), wire_(openssl, socket_.fd()) {
    context_ = openssl_.context_new(openssl_.tls_method());
    openssl_.context_ctrl(context_, drivers::openssl::kCtrlSetMinProtoVersion, version, nullptr);
    openssl_.context_ctrl(context_, drivers::openssl::kCtrlSetMaxProtoVersion, version, nullptr);
    openssl_.context_set_verify(context_, 0, nullptr);
    attach(openssl_.ssl_new(context_));
  }
  /// Begins as a member of the job.
  RawTls(const TlsContext& context, Socket socket)
      : openssl_(context.openssl()), socket_(std::move(socket)), wire_(openssl_, socket_.fd()) {
    attach(context.new_ssl(TlsRole::connects));
  }
  ~RawTls() {
    openssl_.ssl_free(ssl_);
    openssl_.context_free(context_);
    openssl_.clear_errors();
  }
  RawTls(const RawTls&) = delete;
  RawTls& operator=(const RawTls&) = delete;

  drivers::Ssl* ssl() const { return ssl_; }
  /// Does what it can now; true once its own handshake is over.
  bool move_on() {
    openssl_.clear_errors();
    wire_.flush();
    const bool over = openssl_.ssl_connect(ssl_) == 1;
    openssl_.clear_errors();
    return over;
  }

 private:
  void attach(drivers::Ssl* ssl) {
    ssl_ = ssl;
    drivers::SslBio* const bio = openssl_.bio_new(TlsWire::method(openssl_));
    openssl_.bio_set_data(bio, &wire_);
    openssl_.bio_set_init(bio, 1);
    openssl_.ssl_set_bio(ssl_, bio, bio);
  }

  const drivers::OpenSslTable& openssl_;
  const Socket socket_;
  TlsWire wire_;
  drivers::SslContext* context_ = nullptr;
  drivers::Ssl* ssl_ = nullptr;
};

/// Moves the session on against the stranger until it is ready or has failed.
inline Status outcome_against(TlsSession& session, RawTls& stranger) {
  const Deadline deadline = Deadline::in_ms(60'000);
  for (;;) {
    stranger.move_on();
    const auto done = session.handshake();
    if (!done.ok() || *done) return done.status();
    wait_for(session.socket().fd(), session.events(), Deadline::in_ms(kPollSliceMs));
    if (deadline.over()) return Status(Code::internal_error, "no end");
  }
}

}  // namespace weir::testing
