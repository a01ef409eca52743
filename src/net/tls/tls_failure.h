// SPDX-License-Identifier: Apache-2.0
/// Why OpenSSL failed, as sentences.
/// Tests: tests/net/tls/tls_handshake_test.cc, tests/net/tls/tls_context_test.cc
#pragma once

#include <string>

#include "src/drivers/openssl_table.h"
#include "src/net/tls/tls_settings.h"

namespace weir {

/// The oldest error of the calling thread's queue, in OpenSSL's words or as text of its errno; empties the
/// queue.
std::string first_tls_reason(const drivers::OpenSslTable& openssl);

/// What is known when a connection fails.
struct TlsFailure {
  TlsSettings::Mode mode = TlsSettings::Mode::off;
  bool greeting = false;   ///< the handshake was not over
  unsigned long code = 0;  ///< the oldest error of the queue, or 0
  long certificate = 0;    ///< result of the check of the peer's certificate; 0: no complaint
  int error = 0;           ///< errno of the socket, or 0
  bool ended = false;      ///< the other side has closed its end
};

/// Takes the oldest error of the queue, and empties it.
unsigned long take_tls_error(const drivers::OpenSslTable& openssl);

/// The end of a sentence that begins with "TLS with 10.0.0.1:80 failed: ": which side refused, and why.
std::string tls_failure_text(const drivers::OpenSslTable& openssl, const TlsFailure& failure);

}  // namespace weir
