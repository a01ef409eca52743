// SPDX-License-Identifier: Apache-2.0
/// Which ways small data may go, in the words of NCCL_PROTO.
///
/// NCCL's LL and LL128 move small data in packets that carry their own flags; here that is the exchange of an
/// island (src/exec/shm_collectives.h). Its Simple is what plans do: slots of channels, with counters beside
/// them. Plain values and pure functions: thread-safe.
#pragma once

#include <bitset>
#include <string_view>

#include "src/base/types.h"
#include "weir/status.h"

namespace weir::core {

struct Protocols {
  /// By collective: LL or LL128 may be used, so fast paths may.
  std::bitset<kCollectives> fast = std::bitset<kCollectives>().set();
  /// By collective: Simple may be used. Plans are taken even so where no fast path does it: there is no other
  /// way.
  std::bitset<kCollectives> simple = std::bitset<kCollectives>().set();

  /// "LL,LL128,Simple", "^LL", "Simple;allreduce:LL": lists as cost::left_out() takes them
  /// (algorithms/cost/lists.h); case does not matter. Errors: invalid_usage for a word that NCCL has not.
  static Result<Protocols> parse(std::string_view text);
};

}  // namespace weir::core
