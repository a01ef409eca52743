// SPDX-License-Identifier: Apache-2.0

#include "src/net/tls/credentials.h"

#include <fmt/format.h>

#include <initializer_list>
#include <string_view>

namespace weir {
namespace {

/// A key of the length that TlsSettings expect; it says nothing about the secret.
Bytes key_of(const Secret& secret) {
  Bytes key;
  for (const std::string_view half : {"tls: first half", "tls: second half"}) {
    const Secret derived = secret.derive(half);
    key.insert(key.end(), derived.bytes().begin(), derived.bytes().end());
  }
  return key;
}

}  // namespace

Result<Credentials> Credentials::make(const Secret& secret, TlsSettings settings) {
  if (!settings.on()) return Credentials(secret);
  // What is said before TLS is proven with the secret, whatever the key of TLS is.
  if (secret.is_public()) {
    return Status(
        Code::invalid_usage,
        fmt::format("WEIR_TLS={} needs a secret of the job, and NCCL_COMM_ID holds none; expected the "
                    "same WEIR_SECRET or WEIR_SECRET_FILE on all ranks",
                    name_of(settings.mode)));
  }
  if (settings.mode == TlsSettings::Mode::psk && settings.secret.empty()) settings.secret = key_of(secret);
  auto context = TlsContext::make(settings);
  WEIR_TRY(context.status());
  return Credentials(secret, std::move(*context));
}

}  // namespace weir
