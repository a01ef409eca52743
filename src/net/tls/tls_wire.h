// SPDX-License-Identifier: Apache-2.0
/// The records of one encrypted connection on their way to and from its socket: the BIO through which OpenSSL
/// reads and writes.
///
/// OpenSSL's own BIO for sockets raises SIGPIPE and refuses a record that does not fit into the socket
/// buffer; this one keeps what the kernel does not take, and passes it on later.
///
/// Thread safety: one thread at a time.
/// Tests: tests/net/tls/tls_session_test.cc
#pragma once

#include "src/base/bytes.h"
#include "src/drivers/openssl_table.h"

namespace weir {

class TlsWire {
 public:
  /// `fd` is a non-blocking socket, which is not owned and outlives the object.
  TlsWire(const drivers::OpenSslTable& openssl, int fd) : openssl_(openssl), fd_(fd) {}
  TlsWire(const TlsWire&) = delete;
  TlsWire& operator=(const TlsWire&) = delete;

  /// The method of such BIOs, made once and never freed; null if there is no memory. Thread-safe.
  static const drivers::SslBioMethod* method(const drivers::OpenSslTable& openssl);

  /// Passes kept bytes to the kernel, as far as it takes them. Never blocks.
  void flush();
  /// Bytes that the kernel has not taken.
  size_t kept() const { return out_.size() - sent_; }
  /// What ended the connection: an errno, or 0.
  int error() const { return error_; }
  /// Whether the other side has closed its end.
  bool ended() const { return ended_; }

 private:
  static int write(drivers::SslBio* bio, const char* bytes, size_t size, size_t* written);
  static int read(drivers::SslBio* bio, char* into, size_t size, size_t* got);
  static long control(drivers::SslBio* bio, int command, long number, void* argument);

  static TlsWire* of(drivers::SslBio* bio);
  size_t send(const char* bytes, size_t size);
  void keep(const char* bytes, size_t size);

  const drivers::OpenSslTable& openssl_;
  const int fd_;
  Bytes out_;
  size_t sent_ = 0;  ///< bytes of out_ that the kernel has taken
  int error_ = 0;
  bool ended_ = false;
};

}  // namespace weir
