// SPDX-License-Identifier: Apache-2.0
/// A channel without any shared memory: the sender keeps messages in its own slots, the receiver fetches them
/// through the kernel into slots of its own, and each reads the other's counter on its control block
/// (cma_board.h).
///
/// Binding: the receiver writes the token of the sender it found into its block, the sender answers with the
/// token of the receiver. So both know the one other end they belong to, whatever earlier lives of the
/// channel are around.
///
/// A sender is flushed when the receiver has fetched everything, or is not there any more.
///
/// Thread safety: each end is used by one thread at a time. The board outlives the end.
#pragma once

#include <memory>

#include "transports/memory/cma_board.h"
#include "transports/transport.h"

namespace weir::cma {

Result<std::unique_ptr<Sender>> open_cma_sender(Board& board, const PeerBoard& peer, const LinkSpec& spec);
Result<std::unique_ptr<Receiver>> open_cma_receiver(Board& board, const PeerBoard& peer,
                                                    const LinkSpec& spec);

}  // namespace weir::cma
