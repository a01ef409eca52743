// SPDX-License-Identifier: Apache-2.0
/// Sends and receives of one group, carried out side by side: no order among different peers, call order
/// towards one peer. Each direction of a pair has one channel; a send fills its slots, a receive empties
/// them.
///
/// Not thread-safe. A task in the sense of exec/task.h.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "src/core/call/operation.h"
#include "src/core/channels/links.h"
#include "src/exec/task.h"

namespace weir::core {

class Pairs final : public exec::Task {
 public:
  Pairs(Rank self, int ranks, Links& links)
      : self_(self), links_(links), directions_(2 * static_cast<size_t>(ranks)) {}

  /// Begins the sends and receives among `operations`; opens channels that are new (wait for Links::ready()
  /// before advance()). REQUIRES: the last batch is done; there is a send_recv.
  Status start(std::span<const Operation> operations, bool check);

  exec::Progress advance() override;
  Status serve(Rank& peer) override;
  Status error() const override { return error_; }
  Rank waiting_for() const override { return waiting_for_; }
  std::vector<Rank> awaited() const override;

 private:
  /// A send or receive. At least one message goes, if only an empty one.
  struct Transfer {
    std::byte* data;  ///< what is left of it
    size_t left;
    size_t total;
    uint64_t tag;  ///< number of the transfer in its direction, and signature
  };
  /// One direction towards one peer. One of the two ends is null.
  struct Direction {
    Rank peer = 0;
    Sender* sender = nullptr;
    Receiver* receiver = nullptr;
    uint32_t begun = 0;  ///< transfers, the same at both ends
    std::vector<Transfer> queue;
    size_t next = 0;  ///< of the queue

    bool done() const { return next == queue.size() && (sender == nullptr || sender->flushed()); }
  };

  std::unique_ptr<Direction>& entry(Rank peer, bool sends) {
    return directions_[2 * static_cast<size_t>(peer) + (sends ? 1 : 0)];
  }
  Status open(Rank peer, bool sends);
  bool send(Direction& direction);
  bool receive(Direction& direction);
  Status mismatch(const Direction& direction) const;

  const Rank self_;
  Links& links_;
  std::vector<std::unique_ptr<Direction>> directions_;  ///< by peer: from it, to it; null until used
  std::vector<Direction*> busy_;                        ///< what the batch still waits for
  Status error_;
  Rank waiting_for_ = 0;
};

}  // namespace weir::core
