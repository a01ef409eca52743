// SPDX-License-Identifier: Apache-2.0
/// One validated call of a user, as src/api passes it to a communicator.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>

#include "src/base/types.h"
#include "src/device/reduce.h"

namespace weir::core {

/// How values are combined. Averages and scaled sums are sums with a step before or after.
struct Reduction {
  enum class Scaling : uint8_t {
    none,
    average,            ///< divide by the number of ranks (see docs/architecture.md, Reductions)
    premultiply,        ///< multiply this rank's input by `factor` first
    premultiply_later,  ///< likewise, but `factor` holds the address at which it is read in the order of the
                        ///< stream: for Staged, which makes it premultiply
  };
  RedOp op = RedOp::sum;
  Scaling scaling = Scaling::none;
  device::Scalar factor = {};  ///< of the operation's type; only for premultiply

  /// The address; REQUIRES: premultiply_later.
  const void* factor_address() const {
    const void* address = nullptr;
    std::memcpy(&address, factor.bits, sizeof(address));
    return address;
  }
};

struct OneSidedCall;

/// A collective, a send or a receive. `count` is the count of the user's call: elements per block (per rank
/// for all_gather, reduce_scatter, all_to_all, gather and scatter). Pointers are the user's and are not
/// owned.
struct Operation {
  /// What a one-sided call does: send_recv operations that nobody answers.
  enum class Side : uint8_t {
    none,    ///< it is none
    put,     ///< `count` elements of `input` go to rank `root`, then a signal
    signal,  ///< a signal goes there
    wait,    ///< signals of one or several ranks are waited for, of `root` first
  };

  Collective kind = Collective::all_reduce;
  bool sends =
      false;  ///< send_recv only: this is the send half, to rank `root`; else the receive half, from it
  DataType type = DataType::float32;
  Rank root = 0;  ///< root, or the peer of a send or receive
  Reduction reduction;
  const void* input = nullptr;
  void* output = nullptr;
  size_t count = 0;
  /// all_reduce only: operands on host memory that the result is combined with last, by `reduction.op`; the
  /// same on all ranks. Null: none.
  const void* bias = nullptr;
  Side side = Side::none;
  std::shared_ptr<const OneSidedCall> one_sided;  ///< its rest; null where side is none
};

/// A send, a receive or a one-sided call.
inline bool is_point_to_point(const Operation& operation) { return operation.kind == Collective::send_recv; }
/// A send or a receive, which needs a matching call of its peer.
inline bool is_pair(const Operation& operation) {
  return is_point_to_point(operation) && operation.side == Operation::Side::none;
}

/// NCCL's name of a kind of collective: "AllReduce"; "SendRecv" for sends and receives.
const char* nccl_name(Collective kind);

/// The call as the user made it: "ncclAllReduce(count 1024, ncclFloat32, ncclSum)".
std::string describe(const Operation& operation);

/// 32 bits that ranks compare: equal for calls that match, different (almost surely) otherwise.
inline uint32_t signature(const Operation& operation) {
  // Multiplicative hashing, with the constants of MurmurHash3.
  const auto mix = [](uint64_t a, uint64_t b) {
    const uint64_t x = (a * 0xff51afd7ed558ccdULL) ^ (b * 0xc4ceb9fe1a85ec53ULL);
    return static_cast<uint32_t>((x ^ (x >> 32)) * 0x9e3779b97f4a7c15ULL >> 32);
  };
  if (operation.kind == Collective::send_recv) {  // only the bytes must agree
    return mix(operation.count * size_of(operation.type), 1);
  }
  const uint64_t kind =
      static_cast<uint64_t>(operation.kind) | static_cast<uint64_t>(operation.type) << 8 |
      (reduces(operation.kind) ? static_cast<uint64_t>(operation.reduction.op) << 16 |
                                     static_cast<uint64_t>(operation.reduction.scaling) << 24
                               : 0) |
      (has_root(operation.kind) ? static_cast<uint64_t>(operation.root) << 32 : 0);
  return mix(operation.count, kind);
}

}  // namespace weir::core
