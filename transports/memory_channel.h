/// A channel through memory that both ends address: the sender writes slots in the receiver's inbox.
///
/// Layout of a channel's block, made by the receiver and announced in its directory (inbox.h):
///
///     | state, shape | taken | slot 0: header line, payload | slot 1 ... |
///
/// Shared words, each in a line of its own or of its writer's:
///   word              writer                      reader     meaning
///   state             both, by atomic exchange    both       life of the channel: generation and flags
///   shape             receiver, before announcing sender     slots and slot_bytes
///   released          receiver                    sender     messages whose slots are free again
///   slot sequence     sender, last of its slot    receiver   number of the message in the slot, from 1
///   slot tag, bytes,  sender, before sequence     receiver
///   payload
///
/// After a message the sender rings the receiver's doorbell; after a release the receiver rings the sender's.
///
/// Closing: a channel that one end has closed fails at the other end once that end wants more than it can
/// get: a message that will not come, or room that will not be made.
///
/// Thread safety: each end is used by one thread at a time.
#pragma once

#include <memory>

#include "transports/home.h"
#include "transports/transport.h"

namespace weir {

/// The sending end of channel spec.channel to the owner of `peer`.
Result<std::unique_ptr<Sender>> open_memory_sender(PeerHome peer, const LinkSpec& spec);

/// The receiving end, in `home`. REQUIRES: home outlives it. Rings the doorbell of `peer`.
Result<std::unique_ptr<Receiver>> open_memory_receiver(Home& home, PeerHome peer, const LinkSpec& spec);

}  // namespace weir
