// SPDX-License-Identifier: Apache-2.0
/// Appends operations to a thread block of MSCCL++, with a `nop` wherever its threads have to wait for each
/// other.
/// Tests: tests/algorithms/mscclpp_test.cc
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/mscclpp/execution_plan.h"

namespace weir::mscclpp {

class BlockWriter {
 public:
  /// A span as positions in memory, first and end; spans that may be the same memory overlap there.
  using Place = std::function<std::pair<size_t, size_t>(const ChunkSpan&)>;

  BlockWriter(ThreadBlock& block, Place place) : block_(block), place_(std::move(place)) {}

  /// An operation that accesses own memory, and perhaps a peer's.
  void data(Operation operation);
  /// Operations on channels of one type or on semaphores, several at once; nothing if there are none.
  void signal(ChannelType type, std::span<const int> channels);
  void wait(ChannelType type, std::span<const int> channels);
  void flush(std::span<const int> channels);
  void acquire(std::span<const int> semaphores);
  void release(std::span<const int> semaphores);

 private:
  struct Access {
    size_t first, end;
    bool writes;
  };

  void on_channels(OperationKind kind, ChannelType type, std::span<const int> channels);
  void on_semaphores(OperationKind kind, std::span<const int> semaphores);
  /// What one thread has learned counts for all of them only after the threads have waited for each other.
  void has_waited() { has_waited_ = true; }
  void synchronize();
  bool conflicts(const Access& access) const;

  ThreadBlock& block_;
  Place place_;
  std::vector<Access> since_nop_;
  std::array<std::vector<int>, 2> waited_;  // by type; channels since the last nop
  bool has_waited_ = false;
};

}  // namespace weir::mscclpp
