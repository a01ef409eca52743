// SPDX-License-Identifier: Apache-2.0
/// The interpreter: runs one rank's program, whatever the transports.
///
/// Order fixes results: a lane is sequential, channels are FIFOs, nothing is received from "anyone". So the
/// bits do not depend on timing. A step whose channels are not ready leaves the lane where it is; advance()
/// goes on there.
///
/// Not thread-safe. advance() and serve() do not allocate.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "src/exec/program.h"
#include "src/exec/task.h"
#include "src/exec/work.h"
#include "transports/transport.h"

namespace weir::exec {

/// What a program is bound to. Ends are indexed like Program::channels (one of the two vectors has the end,
/// the other null). Everything outlives the Run.
struct Binding {
  std::vector<Sender*> senders;
  std::vector<Receiver*> receivers;
  std::vector<double> paces;     ///< of senders, bytes per second (0: any); none: nobody says
  std::byte* scratch = nullptr;  ///< scratch_chunks * tile_bytes; readable by peers if they pull
  std::vector<const std::byte*> peer_scratch;  ///< by rank; null where the program does not pull
  size_t tile_bytes = 0;  ///< the most that there is room for: message_chunks * tile_bytes <= slot bytes
};

class Run final : public Task {
 public:
  Run(const Program& program, Binding binding);

  /// Begins an operation, which stays where it is until that is done. REQUIRES: the last one is done. Passes
  /// get as far as the work says and the binding has room for.
  void start(const Work& work);
  /// The binding's.
  size_t most_tile_bytes() const { return binding_.tile_bytes; }

  Progress advance() override;
  Status serve(Rank& peer) override;
  Status error() const override { return error_; }
  Rank waiting_for() const override;
  std::vector<Rank> awaited() const override;
  std::string place() const override;

 private:
  struct Lane {
    std::span<const Step> steps;
    size_t step = 0;
    size_t pass = 0;
    uint32_t waited = 0;      ///< messages the current wait has taken
    uint32_t blocked_on = 0;  ///< channel
  };
  const Lane* blocked_lane() const;
  bool advance_lane(Lane& lane);
  bool wait(const Step& step, Lane& lane);
  bool signal(const Step& step, Lane& lane);
  bool move(const Step& step, Lane& lane);
  bool copy_one(const Step& step, Lane& lane);
  bool channels_ready(const Step& step, Lane& lane);
  bool message_ready(uint32_t channel, Lane& lane);
  bool slot_ready(uint32_t channel, Lane& lane);
  const std::byte* move_chunk(const Step& step, uint32_t i, const Piece& piece, size_t offset);
  bool spares_slot(const Step& step, int destination) const;
  const std::byte* source(const Place& place, uint32_t chunk, const Piece& piece, size_t offset);
  std::byte* destination(const Place& place, uint32_t chunk, const Piece& piece, size_t offset);
  size_t block_offset(uint32_t chunk, const Piece& piece) const;
  bool check(const Message& message, uint32_t channel);
  bool flushed() const;

  const Program& program_;
  const Binding binding_;
  const Work* work_ = nullptr;
  Division division_;  ///< of the work that was divided last, as its type and tiles are
  DataType type_ = DataType::float32;
  size_t tile_bytes_ = 0;
  size_t element_ = 4;
  std::vector<Lane> lanes_;  ///< those that have steps
  std::vector<Sender*> flushing_;
  std::vector<bool> spares_copies_;         ///< by channel: of senders
  std::vector<std::byte> scaled_;           ///< a tile of own input after scaling
  std::vector<const std::byte*> incoming_;  ///< by channel: the message of the current step
  std::vector<std::byte*> outgoing_;        ///< by channel: the slot of the current step
  Status error_;
};

}  // namespace weir::exec
