// SPDX-License-Identifier: Apache-2.0
/// What a process needs to speak with the other processes of a job: the secret that proves membership, and
/// the context of TLS if the connections of the job are encrypted. Values may be copied between threads.
/// Tests: tests/net/tls/credentials_test.cc
#pragma once

#include <memory>
#include <utility>

#include "src/net/secret.h"
#include "src/net/tls/tls_context.h"

namespace weir {

struct Credentials {
  Secret secret;
  std::shared_ptr<const TlsContext> tls;  ///< null: connections are not encrypted

  Credentials() = default;
  /// A secret alone: not encrypted.
  Credentials(const Secret& known, std::shared_ptr<const TlsContext> context = nullptr)
      : secret(known), tls(std::move(context)) {}

  TlsSettings::Mode mode() const { return tls == nullptr ? TlsSettings::Mode::off : tls->mode(); }

  /// The credentials of a job whose connections are encrypted as `settings` say. Errors: those of
  /// TlsContext::make(); invalid_usage if a secret that everybody knows would be the key.
  static Result<Credentials> make(const Secret& secret, TlsSettings settings);
};

}  // namespace weir
