// SPDX-License-Identifier: Apache-2.0
/// One validated call of a user, as src/api passes it to a communicator.
///
/// Buffers belong to the user. `count` is the count of the user's call, in elements of `type`.
/// Tests: tests/core/operation_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "src/base/types.h"
#include "src/core/call/reduction.h"
#include "src/core/call/signal_key.h"

namespace weir::ir {
struct LoadedPlan;
}

namespace weir::core {

/// A call that all ranks make together. `count` is per block: the part of one rank in all_gather,
/// reduce_scatter, all_to_all, gather and scatter, the whole buffer in the others.
struct CollectiveOp {
  Collective kind = Collective::all_reduce;  ///< never send_recv
  Rank root = 0;                             ///< meaningful where has_root(kind)
  /// Apart from `kind`: one load of both, just after two stores, would stall.
  DataType type = DataType::float32;
  Reduction reduction = {};
  const void* input = nullptr;
  void* output = nullptr;
  size_t count = 0;
  /// all_reduce only: operands on host memory that the result is combined with last, by `reduction.op`; the
  /// same on all ranks. Null: none.
  const void* bias = nullptr;
  /// The plan to run, which is for this collective and for as many ranks; the same on all ranks. Null: the
  /// library chooses.
  const ir::LoadedPlan* plan = nullptr;
  uint64_t profiler_tag = 0;  ///< a number of the user's for profiler plugins; 0: none
};

/// A send, which needs a matching RecvOp of its peer.
struct SendOp {
  const void* input = nullptr;
  size_t count = 0;
  DataType type = DataType::float32;
  Rank peer = 0;
};

/// A receive, which needs a matching SendOp of its peer.
struct RecvOp {
  void* output = nullptr;
  size_t count = 0;
  DataType type = DataType::float32;
  Rank peer = 0;
};

/// Writes to a window of the peer, then signals. Needs no call of the peer.
struct PutOp {
  const void* input = nullptr;
  size_t count = 0;
  DataType type = DataType::float32;
  Rank peer = 0;
  uint32_t window = 0;  ///< number of the window at the peer
  uint64_t offset = 0;  ///< offset into the window; bytes
  int32_t index = 0;    ///< index of the signal
  int32_t context = 0;
};

/// Signals the peer. Needs no call of the peer.
struct SignalOp {
  Rank peer = 0;
  int32_t index = 0;
  int32_t context = 0;
};

/// Waits for signals of one or several ranks, in the order of the list.
struct WaitOp {
  std::shared_ptr<const std::vector<AwaitedSignals>> awaited;  ///< at least one entry
};

/// CollectiveOp is the first alternative because its path must be the shortest (Execution::begin_next).
using Operation = std::variant<CollectiveOp, SendOp, RecvOp, PutOp, SignalOp, WaitOp>;

/// Whether the input has a block of `count` elements for each rank.
constexpr bool has_many_in(Collective kind) {
  return kind == Collective::reduce_scatter || kind == Collective::all_to_all || kind == Collective::scatter;
}
/// Whether the call of a rank reads its input.
constexpr bool reads_input(const CollectiveOp& call, Rank rank) {
  return (call.kind != Collective::broadcast && call.kind != Collective::scatter) || rank == call.root;
}

/// A send or a receive, which needs a matching call of its peer.
inline bool is_pair(const Operation& operation) {
  return std::holds_alternative<SendOp>(operation) || std::holds_alternative<RecvOp>(operation);
}
/// A send, a receive or a one-sided call.
inline bool is_point_to_point(const Operation& operation) {
  return !std::holds_alternative<CollectiveOp>(operation);
}
/// A put, a signal or a wait.
inline bool is_one_sided(const Operation& operation) {
  return is_point_to_point(operation) && !is_pair(operation);
}

/// The kind under which the operation is counted: send_recv unless it is a collective.
Collective kind_of(const Operation& operation);
/// The rank at the other end; for a wait, the rank of the first entry. REQUIRES: is_point_to_point().
Rank peer_of(const Operation& operation);
/// Bytes of one block; 0 for signals and waits.
size_t bytes_of(const Operation& operation);
/// The buffer that this rank reads, and the one that it writes; null where the operation has none.
const void* input_of(const Operation& operation);
void* output_of(const Operation& operation);

}  // namespace weir::core
