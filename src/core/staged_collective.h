/// One collective whose buffers the host does not reach, or which is cut: piece by piece through the slots of
/// staging.
///
/// Used by the thread that carries operations out.
#pragma once

#include <array>

#include "src/core/copy_queue.h"
#include "src/core/cut.h"
#include "src/core/staging.h"

namespace weir::core {

/// Which buffers of an operation the host does not reach.
struct OutOfReach {
  bool input = false;
  bool output = false;
};

class StagedCollective {
 public:
  /// The queues and the slots outlive it, and nothing else uses them meanwhile. REQUIRES: room for
  /// bytes_needed() in each slot.
  StagedCollective(const Operation& operation, const Cut& cut, Rank rank, OutOfReach away,
                   const Staging::Slots& slots, CopyQueue& in, CopyQueue& out);

  /// Bytes of a slot that it takes.
  static size_t bytes_needed(const Operation& operation, const Cut& cut, OutOfReach away);

  /// Begins to bring the input of a piece.
  Status fill(size_t piece);
  /// Waits until that is there. Gives the operation of the piece, on memory that the host reaches.
  Result<Operation> ready(size_t piece);
  /// Begins to take the output of a piece where it belongs.
  void drain(size_t piece);

 private:
  /// Elements of each block.
  struct Span {
    size_t begin;
    size_t count;
  };
  Span span_of(size_t piece) const;
  std::byte* input_at(size_t piece) const;
  std::byte* output_at(size_t piece) const;

  const Operation operation_;
  const Cut cut_;
  const size_t rank_;
  const size_t element_;
  const OutOfReach staged_;  ///< also what the host reaches, but not in one piece
  const Staging::Slots slots_;
  CopyQueue& in_;
  CopyQueue& out_;
  std::array<uint64_t, Staging::kSlots> filled_{};
  std::array<uint64_t, Staging::kSlots> drained_{};
};

}  // namespace weir::core
