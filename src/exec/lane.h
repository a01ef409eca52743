// SPDX-License-Identifier: Apache-2.0
/// The interpreter: runs one rank's program over any transports.
///
/// The order of a program determines its result: a lane is sequential, channels are FIFOs, and there is no
/// "receive from anyone", so the bits do not depend on timing. At a step whose channels are not ready the
/// lane stops; the next advance() continues there.
///
/// Not thread-safe. advance() and serve() do not allocate.
/// Tests: tests/exec/run_test.cc
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "src/device/handed_copies.h"
#include "src/exec/program.h"
#include "src/exec/task.h"
#include "src/exec/work.h"
#include "transports/transport.h"

namespace weir::exec {

/// The channel ends and memory that a program uses. Ends are indexed like Program::channels (one of the two
/// vectors has the end, the other null). All referenced objects must outlive the Run.
struct Binding {
  std::vector<Sender*> senders;
  std::vector<Receiver*> receivers;
  std::vector<double>
      paces;  ///< send rates in bytes per second, indexed like senders (0: no limit); empty: not specified
  std::byte* scratch = nullptr;  ///< scratch_chunks * tile_bytes bytes; peers that pull read it
  std::vector<const std::byte*>
      peer_scratch;       ///< scratch of each rank; null if the program does not pull from it
  size_t tile_bytes = 0;  ///< capacity for a tile: message_chunks * tile_bytes <= bytes of a slot
};

class Run final : public Task {
 public:
  Run(const Program& program, Binding binding);

  /// Begins an operation; `work` must not move until the operation is done. REQUIRES: the previous operation
  /// is done. The tile is the smaller one of the work's and the binding's.
  void start(const Work& work);
  /// The tile capacity of the binding, in bytes.
  size_t most_tile_bytes() const { return binding_.tile_bytes; }

  Progress advance() override;
  Status serve(Rank& peer) override;
  void recall() override;
  Status error() const override { return error_; }
  Rank waiting_for() const override;
  std::vector<Rank> awaited() const override;
  std::string place() const override;

 private:
  struct Lane {
    std::span<const Step> steps;
    size_t step = 0;
    size_t pass = 0;
    uint32_t waited = 0;      ///< number of messages that the current wait has received
    uint32_t blocked_on = 0;  ///< channel that blocks the lane
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
  const std::byte* move_chunk(const Step& step, uint32_t i, const Piece& piece, size_t offset,
                              uint32_t rendezvous);
  void copy(const Place& place, std::byte* to, const std::byte* from, size_t bytes);
  bool spares_slot(const Step& step, int destination) const;
  bool fetch_messages(const Step& step, Lane& lane);
  bool may_rendezvous(const Place& to, const std::byte* data, size_t bytes) const;
  uint32_t rendezvous_with(const Step& step, size_t pass);
  const std::byte* buffer_of(const Step& step, size_t pass);
  std::byte* written_buffer(const Step& step, size_t pass);
  void send_buffer(uint32_t channel, const std::byte* data, size_t bytes);
  const std::byte* source(const Place& place, uint32_t chunk, const Piece& piece, size_t offset);
  std::byte* destination(const Place& place, uint32_t chunk, const Piece& piece, size_t offset);
  size_t block_offset(uint32_t chunk, const Piece& piece) const;
  bool check(const Message& message, uint32_t channel);
  bool flushed() const;

  const Program& program_;
  const Binding binding_;
  const Work* work_ = nullptr;
  Division division_;  ///< division of the last work; type_ and tile_bytes_ belong to it
  DataType type_ = DataType::float32;
  size_t tile_bytes_ = 0;
  size_t element_ = 4;
  std::vector<Lane> lanes_;  ///< the lanes that have steps
  std::vector<Sender*> flushing_;
  const bool keeps_buffers_;            ///< buffers keep what they have until the operation ends
  bool streams_ = false;                ///< what is received into buffers bypasses the caches
  device::HandedCopies handed_copies_;  ///< into slots
  bool kernel_reads_ = false;           ///< messages of buffers may be read through the kernel
  std::vector<Sender*> rendezvous_;     ///< senders that sent so in this operation
  std::vector<bool> hands_on_;          ///< whether the channel's sender can send from any memory, by channel
  std::vector<std::byte> scaled_;       ///< one tile of own input after scaling
  std::vector<const std::byte*> incoming_;  ///< message of the current step, by channel
  std::vector<std::byte*> outgoing_;        ///< slot of the current step, by channel
  Status error_;
};

}  // namespace weir::exec
