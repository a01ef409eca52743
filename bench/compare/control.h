// SPDX-License-Identifier: Apache-2.0
/// Synchronizes the ranks of one run, in the same way for every library: a barrier and a maximum over shared
/// memory.
///
/// One Control per rank, created before the library under test is used. Not thread-safe. Waiting ranks spin,
/// and yield the core if there are more ranks than cores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace compare {

struct ControlSlot;

class Control {
 public:
  /// Memory that children of fork() share. The parent calls this, every rank then calls adopt().
  static Control shared_by_fork(int ranks);
  /// Memory in a file of the same host, for ranks that a launcher starts. The file must exist and be empty.
  /// Exits with an error message if it cannot be mapped.
  static Control shared_by_file(const std::string& path, int rank, int ranks);

  void adopt(int rank) { rank_ = rank; }
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  bool crowded() const { return crowded_; }

  /// Returns when all ranks have called it.
  void barrier();
  /// The largest `value` of all ranks.
  double most(double value);
  /// Copies the bytes of rank 0 to all ranks. REQUIRES: bytes <= kNoteBytes.
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

/// Forks so that `ranks` processes return, each with its rank; binds each to core rank % cores if `pinned`.
/// The parent is rank 0.
int fork_ranks(int ranks, bool pinned = true);
/// Binds this process to core rank % cores, if it is allowed to.
void pin(int rank);
/// The parent of fork_ranks() waits for its children. Returns the first status that is not 0.
int wait_for_ranks();

/// Number of processors that this process was allowed to use before it was bound.
int usable_cores();

}  // namespace compare
