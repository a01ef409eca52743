/// What the tcp channels of a communicator rank have done, for the log.
///
/// Belongs to the transport; ends add to it when they are closed, on the transport's thread.
#pragma once

#include <cstdint>
#include <string>

#include "src/base/socket.h"

namespace weir::tcp {

struct Counters {
  uint64_t sent = 0;           ///< bytes of payload
  uint64_t received = 0;       ///< bytes of payload
  uint64_t stalls = 0;         ///< times that a sender had to wait for credit
  uint64_t stalled_ns = 0;     ///< how long, over all channels
  uint64_t grants = 0;         ///< credit frames sent by receivers
  uint64_t retransmitted = 0;  ///< segments, by the kernel of this host

  /// For the log; empty: nothing was sent or received.
  std::string describe() const;
};

/// Segments that the kernel has sent again on a connection; 0 where it does not tell.
uint64_t retransmitted(const Socket& socket);

}  // namespace weir::tcp
