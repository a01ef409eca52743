// SPDX-License-Identifier: Apache-2.0
/// A channel without shared memory: the sender keeps messages in its own slots, the receiver copies them
/// through the kernel into its own slots, and each end reads the other's counter in its control block
/// (cma_board.h).
///
/// Binding: the receiver writes the token of the sender that it found into its own block; the sender then
/// writes the token of the receiver into its block. Both ends therefore identify each other even if ends of
/// earlier lives of the channel still exist.
///
/// A sender is flushed when the receiver has fetched all messages or has closed.
///
/// Thread safety: each end is used by one thread at a time. The board outlives the end.
/// Tests: tests/transports/cma_test.cc
#pragma once

#include <memory>

#include "transports/memory/cma_board.h"
#include "transports/transport.h"

namespace weir::cma {

Result<std::unique_ptr<Sender>> open_cma_sender(Board& board, const PeerBoard& peer, const LinkSpec& spec);
Result<std::unique_ptr<Receiver>> open_cma_receiver(Board& board, const PeerBoard& peer,
                                                    const LinkSpec& spec);

}  // namespace weir::cma
