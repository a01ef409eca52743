// SPDX-License-Identifier: Apache-2.0
/// A channel through memory that both ends can address: a ring of records in the receiver's ring pool.
///
/// Layout of a channel's block, which the receiver creates and announces in its directory (ring_pool.h):
///
///     | state, shape | released | ring: header, payload, header, payload ... |
///
/// Short records are packed closely, so that many small messages share a cache line and a ring holds hundreds
/// of them. Shared words:
///   word                  writer                      reader     meaning
///   state                 both, by atomic exchange    both       life of the channel: generation and flags
///   shape                 receiver, before announcing sender     slots and slot_bytes
///   sender                sender, before messages     receiver   process in which addresses are
///   released              receiver                    sender     end of the part that may be written
///   asked                 receiver                    sender     parts of messages asked for
///   header, payload       sender, the header's word   receiver   a message; the word is cleared before the
///                         last                                   record before it is announced
///
/// A large message whose bytes stay in the sender is a rendezvous: its payload is their address, in a record
/// as long as if it had the bytes, at most slot_bytes. The receiver reads them there (memory_owner.h). If it
/// cannot, it asks for them part by part: the sender puts a part into the record, its number into the header.
///
/// After each message the sender rings the receiver's doorbell. Every few KiB the receiver reports free space
/// and rings the sender's doorbell.
///
/// Closing: after one end has closed the channel, the other end fails once it needs something that cannot
/// come: another message, or more free space.
///
/// Thread safety: each end is used by one thread at a time.
/// Tests: tests/transports/conformance.cc
#pragma once

#include <memory>

#include "transports/memory/segment.h"
#include "transports/transport.h"

namespace weir {

/// The sending end of channel spec.channel to the owner of `peer`.
Result<std::unique_ptr<Sender>> open_memory_sender(PeerSegment peer, const LinkSpec& spec);

/// The receiving end, in `segment`. REQUIRES: `segment` outlives it. Rings the doorbell of `peer`.
Result<std::unique_ptr<Receiver>> open_memory_receiver(Segment& segment, PeerSegment peer,
                                                       const LinkSpec& spec);

}  // namespace weir
