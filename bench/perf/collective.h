// SPDX-License-Identifier: Apache-2.0
/// Definition of a measured collective: buffer sizes, the call, the correct result, and the bandwidth.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace weir::perf {

/// One call of one rank. Pointers are the arguments of the library call.
struct Call {
  const void* send;
  void* recv;
  size_t count;  ///< argument of the call, in elements
  ncclDataType_t type;
  ncclRedOp_t op;
  int root;
  int rank;
  int ranks;
  size_t type_size;
  ncclComm_t comm;
  cudaStream_t stream;
};

/// Sizes in elements, equal on all ranks.
struct Layout {
  size_t send;   ///< size of the send buffer
  size_t recv;   ///< size of the receive buffer
  size_t count;  ///< argument of the call
  /// In place, rank r sends from recv + r * send_in_place and receives at recv + r * recv_in_place.
  size_t send_in_place = 0;
  size_t recv_in_place = 0;
};

/// Elements [at, at + count) of a receive buffer equal those from `source_at` on of rank `from`'s input, or
/// of the reduction of all inputs if `from` is Pattern::kReduced.
struct Segment {
  size_t at;
  size_t count;
  int from;
  size_t source_at;
};

struct Bandwidth {
  double algorithm;  ///< GB/s
  double bus;        ///< GB/s
};

/// Content of the redop column.
enum class OpColumn : unsigned char { op, none, empty };

struct Collective {
  std::string_view program;
  bool reduces;
  bool has_root;
  bool checks_in_place;
  bool hypercube;  ///< needs a power-of-two number of ranks, and separate groups one after the other
  OpColumn op_column;
  Layout (*layout)(size_t count, size_t type_size, int ranks);
  /// Bytes of which algbw is computed, from the argument of the call.
  double (*volume)(double bytes, int ranks);
  /// Returns busbw / algbw.
  double (*bus_factor)(int ranks);
  ncclResult_t (*run)(const Call&);
  /// Expected content of the rank's receive buffer; empty if the call leaves it undefined.
  std::vector<Segment> (*expected)(const Layout&, int rank, int ranks, int root);
};

/// All programs.
std::span<const Collective> all_collectives();
/// Finds a program by name; null if there is none.
const Collective* find_collective(std::string_view program);

Bandwidth bandwidth(const Collective& collective, const Layout& layout, size_t type_size, int ranks,
                    double seconds);

}  // namespace weir::perf
