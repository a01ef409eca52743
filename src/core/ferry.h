/// Carries what is sent from memory of a GPU, and what is received into it, through pinned memory: two chunks
/// per direction towards a peer, of one message each, so that no direction waits for another.
///
/// reserve() is called by the thread that issues operations, the rest by the one that carries them out.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "src/base/types.h"
#include "src/core/copy_queue.h"
#include "src/core/pinned.h"

namespace weir::core {

class Ferry {
 public:
  /// All of these outlive it. `message_bytes`: the most that is sent at once.
  struct Parts {
    device::Gpus* gpus = nullptr;
    device::Gpu* gpu = nullptr;
    CopyQueue* in = nullptr;
    CopyQueue* out = nullptr;
    size_t message_bytes = 0;
  };
  Ferry(const Parts& parts, int ranks) : parts_(parts), lanes_(2 * static_cast<size_t>(ranks)) {}

  /// Makes the chunks of a direction. Errors: as device::Gpu.
  Status reserve(Rank peer, bool sends);
  /// Of all chunks.
  size_t bytes() const;

  /// Memory at this address has to be carried.
  bool carries(const void* address) const;
  /// The next message of a send, of which `left` bytes from `from` on are left; null: it is on its way, or
  /// failure() says why not. Stays until sent().
  const std::byte* fetch(Rank peer, const std::byte* from, size_t left);
  void sent(Rank peer);
  /// Where the next received message has to be put; null: chunks are on their way to the GPU, or failure()
  /// says why not.
  std::byte* room(Rank peer);
  /// Takes what was put there on, to `to`.
  void deliver(Rank peer, std::byte* to, size_t bytes);
  Status failure() const { return parts_.in->failure().ok() ? parts_.out->failure() : parts_.in->failure(); }

 private:
  static constexpr size_t kChunks = 2;
  struct Lane {
    Pinned memory;
    size_t next = 0;   ///< chunk that is sent or filled next
    size_t ahead = 0;  ///< of a send: chunks that are being fetched
    std::array<uint64_t, kChunks> marks{};
  };
  static size_t place(Rank peer, bool sends) { return 2 * static_cast<size_t>(peer) + (sends ? 1 : 0); }
  Lane& lane(Rank peer, bool sends);
  std::byte* chunk(const Lane& lane, size_t number) const {
    return lane.memory.data() + number % kChunks * parts_.message_bytes;
  }

  const Parts parts_;
  mutable std::mutex mutex_;  ///< guards which lanes there are
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace weir::core
