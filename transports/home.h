/// The home of a rank: one segment of shared memory per communicator rank, which peers on the same host can
/// map. It holds the doorbell on which the rank sleeps, the window that named fast paths use, and the inbox
/// where peers put messages.
///
///     | header, doorbell | directory of channels | window | inbox, sparse |
///
/// One memfd; nothing has a name in any file system, so nothing stays behind whoever dies. Pages that nobody
/// touches cost nothing.
///
/// Writers: the header and directory are written by the owner alone; the window belongs to src/exec, which
/// says there who writes which word; a channel in the inbox has the writers that memory_channel.h names.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir {

struct Doorbell;

/// A home as seen from one address space.
struct HomeView {
  Doorbell* doorbell = nullptr;
  std::byte* window = nullptr;
  size_t window_bytes = 0;
  std::byte* base = nullptr;  ///< begin of the whole segment, for transports
};

}  // namespace weir
