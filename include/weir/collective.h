// SPDX-License-Identifier: Apache-2.0
/// The collectives that weir bounds, plans and carries out. C++20; needs no other header.
#pragma once

#include <cstdint>

namespace weir {

/// Bounds and plans give their times per byte of M, the size of the whole. M is the buffer of one rank for
/// all-reduce, reduce and broadcast, the gathered buffer for all-gather and gather, the buffer that is
/// divided for reduce-scatter and scatter, and what one rank sends for all-to-all.
enum class Collective : uint8_t {
  all_reduce,
  reduce,
  broadcast,
  all_gather,
  reduce_scatter,
  all_to_all,
  gather,
  scatter,
  send_recv,  ///< sends and receives between pairs of ranks; it has no bound and no plan
};

}  // namespace weir
