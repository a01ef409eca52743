// SPDX-License-Identifier: Apache-2.0
/// Each collective as one thing: what a rank puts in, where results go, how it is called, what must come out.
#pragma once

#include "tests/conform/machine.h"
#include "tests/conform/numbers.h"

namespace weir::conform {

enum class Kind {
  all_reduce,
  reduce,
  broadcast,
  all_gather,
  reduce_scatter,
  all_to_all,
  gather,
  scatter,
  ring
};
inline constexpr Kind kKinds[] = {Kind::all_reduce, Kind::reduce,         Kind::broadcast,
                                  Kind::all_gather, Kind::reduce_scatter, Kind::all_to_all,
                                  Kind::gather,     Kind::scatter,        Kind::ring};
const char* name_of(Kind kind);
bool reduces(Kind kind);

struct Case {
  Kind kind = Kind::all_reduce;
  Type type = kFloat32;
  ncclRedOp_t op = ncclSum;
  bool in_place = false;
  size_t count = 0;  ///< of elements of a block
  int round = 0;     ///< changes what is put in
};

/// A rank's buffers for cases of up to `count` elements per block, and its part in them.
class Player {
 public:
  Player(ncclComm_t comm, int rank, int ranks, size_t count, size_t element_bytes);

  /// The input goes in and the old output away, in the order of the stream.
  void fill(const Case& one, cudaStream_t stream) const;
  ncclResult_t call(const Case& one, cudaStream_t stream) const;
  /// What is wrong with the output, as a sentence; empty: nothing. Waits for the stream.
  std::string check(const Case& one, cudaStream_t stream) const;

 private:
  size_t input_blocks(Kind kind) const;
  size_t output_blocks(Kind kind) const;
  bool has_output(Kind kind) const;
  bool has_input(Kind kind) const;
  /// Where the output begins in its buffer: where the case is in place, as the interface has it.
  std::byte* input(const Case& one) const;
  std::byte* output(const Case& one) const;
  double expected(const Case& one, size_t element) const;

  const ncclComm_t comm_;
  const int rank_;
  const int ranks_;
  const int root_;
  const Buffer in_;
  const Buffer out_;
};

}  // namespace weir::conform
