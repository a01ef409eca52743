// SPDX-License-Identifier: Apache-2.0
/// What a library under comparison must offer: memory and collectives of 32-bit floats (sums where there is a
/// sum).
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
  float* output;  ///< never the input
};

/// Not thread-safe. An implementation that fails says why on stderr and ends the process: the driver reports
/// it.
class Library {
 public:
  virtual ~Library() = default;
  virtual bool does(Op op) const = 0;
  virtual float* allocate(size_t bytes) = 0;
  virtual void release(float* memory) = 0;
  /// Called once before a row of equal calls: what a user would keep between them is made here.
  virtual void prepare(const Call& call) = 0;
  virtual void run(const Call& call) = 0;
};

std::string_view name_of(Op op);

/// Page-aligned ordinary memory: the same for every library that brings no allocator of its own. Given back
/// with free().
float* allocate_ordinary(size_t bytes);

}  // namespace compare
