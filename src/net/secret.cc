// SPDX-License-Identifier: Apache-2.0

#include "src/net/secret.h"

#include <fmt/format.h>
#include <sodium/crypto_generichash_blake2b.h>
#include <sodium/utils.h>
#include <sys/random.h>

#include <cerrno>
#include <cstring>

namespace weir {
namespace {

using Hash = std::array<std::byte, 16>;

const unsigned char* raw(BytesView bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }
BytesView view(std::string_view text) { return std::as_bytes(std::span(text)); }

/// sodium_init() would only choose a faster variant, and would start the library's random generator.
Hash blake2b(BytesView message, BytesView key) {
  Hash hash;
  crypto_generichash_blake2b(reinterpret_cast<unsigned char*>(hash.data()), hash.size(), raw(message),
                             message.size(), key.empty() ? nullptr : raw(key), key.size());
  return hash;
}

Result<Hash> random_bytes() {
  Hash bytes;
  ssize_t got = 0;
  do {
    got = getrandom(bytes.data(), bytes.size(), 0);
  } while (got < 0 && errno == EINTR);
  if (got == static_cast<ssize_t>(bytes.size())) return bytes;
  return Status(Code::system_error,
                fmt::format("the kernel gives no random bytes for a secret: {}", std::strerror(errno)));
}

}  // namespace

Result<Secret> Secret::random() {
  auto bytes = random_bytes();
  WEIR_TRY(bytes.status());
  return Secret(*bytes);
}

Secret Secret::from_text(std::string_view text) {
  return Secret(blake2b(view(text), view("weir: secret from a text")));
}

Secret Secret::derive(std::string_view purpose) const {
  const Bytes message = ByteWriter().put_string("weir: derived secret").put_string(purpose).take();
  return Secret(blake2b(message, bytes_));
}

Proof Secret::prove(BytesView message) const { return blake2b(message, bytes_); }

bool Secret::accepts(BytesView message, const Proof& proof) const {
  const Proof right = prove(message);
  return sodium_memcmp(right.data(), proof.data(), right.size()) == 0;
}

Result<Challenge> random_challenge() { return random_bytes(); }

}  // namespace weir
