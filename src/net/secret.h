// SPDX-License-Identifier: Apache-2.0
/// A secret that the processes of a job share: it proves that a connection comes from one of them.
///
/// A secret is 128 bits. It is never sent: a process that has it shows a keyed hash (BLAKE2b) of what it
/// says, over a challenge that the other process has chosen. Nothing here prints a secret; do not log its
/// bytes. Values are plain and may be copied between threads.
/// Tests: tests/net/secret_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "src/base/bytes.h"
#include "src/base/status.h"

namespace weir {

/// Random bytes that a process chooses for one connection, so that an old proof is worth nothing.
using Challenge = std::array<std::byte, 16>;
/// A keyed hash: only processes with the secret can make it.
using Proof = std::array<std::byte, 16>;

class Secret {
 public:
  static constexpr size_t kBytes = 16;

  /// The secret that everybody knows. It is that of jobs to which nobody gave one.
  Secret() = default;
  explicit Secret(const std::array<std::byte, kBytes>& bytes) : bytes_(bytes) {}
  /// Random bits from the kernel; system_error if it gives none.
  static Result<Secret> random();
  /// The secret that follows from a text of any length.
  static Secret from_text(std::string_view text);

  /// Another secret that follows from this one and says nothing about it.
  Secret derive(std::string_view purpose) const;
  Proof prove(BytesView message) const;
  /// Whether `proof` is that of `message`; takes equally long for all wrong proofs.
  bool accepts(BytesView message, const Proof& proof) const;
  /// The secret itself, for the unique id and for children of a launcher.
  const std::array<std::byte, kBytes>& bytes() const { return bytes_; }
  /// True for the secret that everybody knows.
  bool is_public() const { return *this == Secret(); }

  bool operator==(const Secret&) const = default;

 private:
  std::array<std::byte, kBytes> bytes_{};
};

/// A new challenge; system_error if the kernel gives no random bits.
Result<Challenge> random_challenge();

}  // namespace weir
