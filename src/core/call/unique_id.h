// SPDX-License-Identifier: Apache-2.0
/// The 128 bytes by which ranks find each other: the address of the root, a number that identifies the
/// bootstrap, and the secret of the job. Whoever has them can take part.
///
///     uint64 magic | uint32 format | uint32 flags | uint64 nonce | SocketAddress root | Secret |
///     SocketAddress own | uint64 network | uint64 checksum
/// Tests: tests/core/unique_id_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "src/base/bytes.h"
#include "src/base/status.h"
#include "src/net/advertised.h"
#include "src/net/secret.h"
#include "src/net/socket.h"

namespace weir::core {

struct UniqueId {
  static constexpr size_t kBytes = 128;

  SocketAddress root;
  uint64_t nonce = 0;
  bool fixed = false;    ///< given by NCCL_COMM_ID: its root starts when rank 0 joins, and the nonce is 0
  Secret secret{};       ///< never shown; public if nobody gave a fixed id one
  SocketAddress own{};   ///< where the root is in its own network namespace; invalid: at `root`
  uint64_t network = 0;  ///< network_identity() of that

  /// Where a process of this network namespace reaches the root, if not at `root`.
  bool has_own_address() const { return own.valid() && network == network_identity(); }

  std::array<std::byte, kBytes> encode() const;
  /// Returns invalid_argument for bytes of another library or another format, or damaged bytes.
  static Result<UniqueId> decode(BytesView bytes);

  bool operator==(const UniqueId&) const = default;
};

/// All communicators that descend from one unique id belong to one job: their uids share the upper half, the
/// job key. It follows from the secret by a one-way hash, so that it may be shown.
uint32_t job_key_of(const UniqueId& id);
/// A uid of the job with this key; never 0.
uint64_t uid_in_job(uint32_t job_key, uint64_t number);

}  // namespace weir::core
