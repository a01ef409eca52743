/// Sends and receives of one group, carried out side by side: no order among different peers, call order
/// towards one peer. Each direction of a pair has one channel, and every send or receive is the smallest
/// program there is.
///
/// Not thread-safe. A task in the sense of exec/task.h.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "src/core/links.h"
#include "src/core/operation.h"
#include "src/exec/lane.h"

namespace weir::core {

class Pairs final : public exec::Task {
 public:
  Pairs(Rank self, int ranks, Links& links)
      : self_(self), links_(links), directions_(2 * static_cast<size_t>(ranks)) {}

  /// Begins a batch; opens channels that are new (wait for Links::ready() before advance()). REQUIRES: the
  /// last batch is done; every operation is a send_recv.
  Status start(std::span<const Operation> operations, bool check);

  exec::Progress advance() override;
  Status serve() override;
  Status error() const override { return error_; }
  Rank waiting_for() const override { return waiting_for_; }

 private:
  /// One direction towards one peer.
  struct Direction {
    Rank peer = 0;
    bool sends = false;
    uint32_t sequence = 0;  ///< operations begun, the same at both ends
    exec::Program program;
    std::unique_ptr<exec::Run> run;
    std::vector<exec::Work> queue;  ///< of the batch
    size_t done = 0;                ///< of the queue
  };

  Result<Direction*> direction(Rank peer, bool sends);
  bool advance(Direction& direction);
  void explain_mismatch(const Direction& direction);

  const Rank self_;
  Links& links_;
  std::vector<std::unique_ptr<Direction>> directions_;  ///< by peer: from it, to it; null until used
  std::vector<Direction*> busy_;                        ///< of the batch, in order of first use
  Status error_;
  Rank waiting_for_ = 0;
};

}  // namespace weir::core
