// SPDX-License-Identifier: Apache-2.0
/// Transfers without copies in between (UCX: rendezvous with get): the sender offers its data, the receiver
/// reads them where they are, through the kernel or, in the same process, directly, and answers.
///
/// Both processes have to be on one host, and the kernel has to let one read the other's memory
/// (transports/memory/remote_memory.h). Whether it does, the receiver finds out and answers; the sender then
/// sends through slots.
///
/// Thread-safe.
/// Tests: tests/core/rendezvous_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::core {

/// Where a sender's data are; a message.
struct Offer {
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint64_t token_address = 0;  ///< where `token` is, which shows that `pid` is still that process
  uint64_t token = 0;
  uint64_t pid_namespace = 0;
  int64_t pid = 0;
};

/// How an offer ended: the tag of the receiver's empty message.
enum class FetchResult : uint64_t {
  taken,       ///< the receiver has all bytes; the sender may reuse its buffer
  unreadable,  ///< these bytes cannot be read, perhaps others can
  never,       ///< the receiver cannot read the sender's memory
};

class Rendezvous {
 public:
  Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  Offer offer(const void* data, size_t bytes) const;
  /// Copies `bytes` from `offset` on. REQUIRES: they are within the offer.
  FetchResult fetch(const Offer& offer, size_t offset, std::byte* to, size_t bytes) const;

 private:
  const int64_t pid_;
  const uint64_t pid_namespace_;
  const uint64_t token_;
};

}  // namespace weir::core
