// SPDX-License-Identifier: Apache-2.0
/// The 128 bytes by which ranks find each other: where they gather, and a number that tells one bootstrap
/// from another.
///
///     uint64 magic | uint32 format | uint32 flags | uint64 nonce | SocketAddress root | zeroes | uint64
///     checksum
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "src/base/bytes.h"
#include "src/net/socket.h"
#include "weir/status.h"

namespace weir::core {

struct UniqueId {
  static constexpr size_t kBytes = 128;

  SocketAddress root;
  uint64_t nonce = 0;
  bool fixed = false;  ///< from NCCL_COMM_ID: nobody gathers there before rank 0 joins, and the nonce is 0

  std::array<std::byte, kBytes> encode() const;
  /// invalid_argument, with a sentence, for bytes of another library, of another format, or damaged ones.
  static Result<UniqueId> decode(BytesView bytes);

  bool operator==(const UniqueId&) const = default;
};

/// All communicators that descend from one unique id belong to one job: their uids share the upper half,
/// which only those know who have the id, and which listeners ask for (src/net/listener/listener.h). That of
/// a fixed id is no secret.
uint32_t job_key_of(const UniqueId& id);
/// A uid of the job with this key; never 0.
uint64_t uid_in_job(uint32_t job_key, uint64_t number);

}  // namespace weir::core
