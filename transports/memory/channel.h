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
/// A large message whose bytes stay in the sender is a rendezvous: its payload says where they are, in a
/// record as long as if it had the bytes, at most slot_bytes. The receiver reads them there: in memory of the
/// sender's registry, which it maps (attached_blocks.h), or through the kernel (memory_owner.h). If it can do
/// neither, it asks for them part by part: the sender puts a part into the record, its number into the
/// header.
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

#include "transports/memory/attached_blocks.h"
#include "transports/memory/segment.h"
#include "transports/transport.h"

namespace weir {

/// The sending end of channel spec.channel to the owner of `peer`. The peer may map memory of `registry`,
/// which outlives it; null: it maps none.
Result<std::unique_ptr<Sender>> open_memory_sender(PeerSegment peer, const LinkSpec& spec,
                                                   const device::MemoryRegistry* registry);

/// The receiving end, in `segment`. REQUIRES: `segment` and `attached` outlive it. Rings the doorbell of
/// `peer`.
Result<std::unique_ptr<Receiver>> open_memory_receiver(Segment& segment, PeerSegment peer,
                                                       const LinkSpec& spec, AttachedBlocks& attached);

}  // namespace weir
