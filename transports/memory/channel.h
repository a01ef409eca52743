// SPDX-License-Identifier: Apache-2.0
/// A channel through memory that both ends address: a ring of records in the receiver's ring pool.
///
/// Layout of a channel's block, made by the receiver and announced in its directory (ring_pool.h):
///
///     | state, shape | released | ring: header, payload, header, payload ... |
///
/// Short records lie close together, so that many small messages share a line and a ring holds hundreds of
/// them. Shared words:
///   word                  writer                      reader     meaning
///   state                 both, by atomic exchange    both       life of the channel: generation and flags
///   shape                 receiver, before announcing sender     slots and slot_bytes
///   released              receiver                    sender     where the ring may be written up to
///   header, payload       sender, the header's word   receiver   a message; the word is cleared before the
///                         last                                   record before it is announced
///
/// After a message the sender rings the receiver's doorbell; the receiver rings the sender's when it tells of
/// room, which it does every few KiB.
///
/// Closing: a channel that one end has closed fails at the other end once that end wants more than it can
/// get: a message that will not come, or room that will not be made.
///
/// Thread safety: each end is used by one thread at a time.
#pragma once

#include <memory>

#include "transports/memory/segment.h"
#include "transports/transport.h"

namespace weir {

/// The sending end of channel spec.channel to the owner of `peer`.
Result<std::unique_ptr<Sender>> open_memory_sender(PeerSegment peer, const LinkSpec& spec);

/// The receiving end, in `segment`. REQUIRES: segment outlives it. Rings the doorbell of `peer`.
Result<std::unique_ptr<Receiver>> open_memory_receiver(Segment& segment, PeerSegment peer,
                                                       const LinkSpec& spec);

}  // namespace weir
