// SPDX-License-Identifier: Apache-2.0
/// The allowed protocols, in the words of NCCL_PROTO.
///
/// NCCL's LL and LL128 move small data in packets with flags; weir's shm collectives correspond to them
/// (src/exec/shm_collectives.h). NCCL's Simple corresponds to plans: slots of channels, with separate
/// counters. Plain values and pure functions: thread-safe.
/// Tests: tests/core/peer_info_test.cc
#pragma once

#include <bitset>
#include <string_view>

#include "src/base/status.h"
#include "src/base/types.h"

namespace weir::core {

struct Protocols {
  /// Collectives for which LL or LL128, and so the fast paths, may be used.
  std::bitset<kCollectives> fast = std::bitset<kCollectives>().set();
  /// Collectives for which Simple may be used. If there is no fast path, plans are used anyway.
  std::bitset<kCollectives> simple = std::bitset<kCollectives>().set();

  /// Parses "LL,LL128,Simple", "^LL", "Simple;allreduce:LL": lists in the format of cost::left_out()
  /// (algorithms/cost/lists.h), in any case. Errors: invalid_usage for a word that NCCL does not have.
  static Result<Protocols> parse(std::string_view text);
};

}  // namespace weir::core
