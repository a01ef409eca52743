// SPDX-License-Identifier: Apache-2.0
/// What the ranks of one run agree through, so that it is the same for every library compared: a barrier and
/// a maximum over shared memory.
///
/// One Control per rank, made before the library under test is touched. Not thread-safe. Waiting spins, and
/// gives the core away where ranks outnumber cores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace compare {

struct ControlSlot;

class Control {
 public:
  /// Memory that children of fork() share. The parent calls this, every rank then adopt().
  static Control shared_by_fork(int ranks);
  /// Memory in a file of the same host, for ranks that somebody else starts. The file must exist; fresh and
  /// empty. Exits with a sentence if it cannot be mapped.
  static Control shared_by_file(const std::string& path, int rank, int ranks);

  void adopt(int rank) { rank_ = rank; }
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  bool crowded() const { return crowded_; }

  /// Returns when all ranks have called it.
  void barrier();
  /// The largest `value` of all ranks.
  double most(double value);
  /// Gives everybody the bytes of rank 0. REQUIRES: bytes <= kNoteBytes.
  void share(void* data, size_t bytes);

  static constexpr size_t kNoteBytes = 256;

 private:
  Control(ControlSlot* slots, int ranks);

  ControlSlot* slots_;
  int rank_ = 0;
  int ranks_;
  bool crowded_;
  uint64_t arrivals_ = 0;
};

/// Forks so that `ranks` processes return, each with its rank; pins it to core rank % cores. The parent is
/// rank 0.
int fork_ranks(int ranks);
/// Pins this process to core rank % cores. A process that may not is left where it is.
void pin(int rank);
/// In the parent of fork_ranks: waits for the children. Returns the first status that is not 0.
int wait_for_ranks();

/// How many processors this process might use before it was pinned.
int usable_cores();

}  // namespace compare
