// SPDX-License-Identifier: Apache-2.0
/// Interface of a library under comparison: memory, and collectives of 32-bit floats (those that reduce use
/// sums).
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace compare {

enum class Op {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  all_to_all,
  gather,
  scatter,
  sendrecv
};
inline constexpr int kOps = 9;

/// One call. `count` is in floats: the whole buffer for all_reduce, broadcast, reduce and sendrecv, and the
/// share of one rank for the others. The root is rank 0. sendrecv sends to the next rank and receives from
/// the one before.
struct Call {
  Op op;
  size_t count;
  const float* input;
  float* output;  ///< differs from the input
};

/// Not thread-safe. An implementation that fails prints the reason to stderr and ends the process; the driver
/// reports the failure.
class Library {
 public:
  virtual ~Library() = default;
  virtual bool does(Op op) const = 0;
  virtual float* allocate(size_t bytes) = 0;
  virtual void release(float* memory) = 0;
  /// Called once before a series of equal calls; creates objects that a user would keep between the calls.
  virtual void prepare(const Call& call) = 0;
  virtual void run(const Call& call) = 0;
};

std::string_view name_of(Op op);

/// Page-aligned ordinary memory, for libraries without an allocator of their own. Freed with free().
float* allocate_ordinary(size_t bytes);

}  // namespace compare
