// SPDX-License-Identifier: Apache-2.0
/// Sends and receives of one group, carried out concurrently: in call order towards one peer, in any order
/// among different peers. Each direction of a pair has one channel; a send fills its slots, a receive empties
/// them. Large messages go by rendezvous where the transport can do that (Payload::stays), but for a send
/// that nothing else of its group waits for and that fits the slots: it need not wait for its receive.
///
/// Not thread-safe. A task as in exec/task.h.
/// Tests: tests/conform/point_to_point_test.cc
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "src/core/call/operation.h"
#include "src/core/channels/links.h"
#include "src/device/handed_copies.h"
#include "src/exec/task.h"

namespace weir::core {

class Pairs final : public exec::Task {
 public:
  Pairs(Rank self, int ranks, Links& links)
      : self_(self), links_(links), directions_(2 * static_cast<size_t>(ranks)) {}

  /// Begins the sends and receives among `operations`; opens channels that are new (wait for Links::ready()
  /// before advance()). REQUIRES: the last batch is done; `operations` has a send or receive.
  Status start(std::span<const Operation> operations, bool check);
  /// Sends what there is room for, before the first advance(). REQUIRES: Links::settled().
  void send_first();

  exec::Progress advance() override;
  Status serve(Rank& peer) override;
  void recall() override;
  Status error() const override { return error_; }
  Rank waiting_for() const override { return waiting_for_; }
  std::vector<Rank> awaited() const override;

 private:
  /// A send or receive. It has at least one message, which may be empty.
  struct Transfer {
    std::byte* data;  ///< first byte that is left
    size_t left;
    size_t total;
    uint64_t tag;      ///< number of the transfer in its direction << 32, and signature
    bool may_stay;     ///< a send: messages may go by rendezvous
    bool kernel_read;  ///< also if the receiver reads them through the kernel
  };
  /// One direction towards one peer: it has `sender` or `receiver`.
  struct Direction {
    Rank peer = 0;
    Sender* sender = nullptr;
    Receiver* receiver = nullptr;
    uint32_t begun = 0;       ///< number of transfers begun, the same at both ends
    bool rendezvous = false;  ///< some message of the batch went so
    std::vector<Transfer> queue;
    size_t next = 0;                     ///< index of the first unfinished transfer in the queue
    device::HandedCopies handed_copies;  ///< into slots

    bool done() const { return next == queue.size() && (sender == nullptr || sender->flushed()); }
  };

  std::unique_ptr<Direction>& entry(Rank peer, bool sends) {
    return directions_[2 * static_cast<size_t>(peer) + (sends ? 1 : 0)];
  }
  Status open(Rank peer, bool sends);
  Status add(Rank peer, bool sends, void* data, size_t bytes, bool check);
  static bool goes_by_rendezvous(const Sender& sender, const Transfer& transfer, size_t bytes);
  bool send(Direction& direction);
  bool receive(Direction& direction);
  Status mismatch(const Direction& direction) const;

  const Rank self_;
  Links& links_;
  bool group_receives_ = false;                         ///< the batch has a receive
  std::vector<std::unique_ptr<Direction>> directions_;  ///< two for each peer: receive, send; null until used
  std::vector<Direction*> busy_;                        ///< directions that the batch still waits for
  Status error_;
  Rank waiting_for_ = 0;
};

}  // namespace weir::core
