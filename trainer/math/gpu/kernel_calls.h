// SPDX-License-Identifier: Apache-2.0
/// Translates a row operation into kernel calls on a GPU: one call, or several with chunk sums in between.
/// Pure.
#pragma once

#include "trainer/math/gpu/items.h"

namespace weir::trainer::gpu {

/// Floats for the chunk sums that the operation keeps between its calls.
inline Index partial_floats(const RowCall& call) {
  return std::visit(Each{[](const LayerNormBackward& c) { return 2 * chunks_of(c.rows) * c.width; },
                         [](const RmsNormBackward& c) { return chunks_of(c.rows) * c.width; },
                         [](const BiasBackward& c) { return chunks_of(c.rows) * c.width; },
                         [](const auto&) { return Index{0}; }},
                    call);
}

/// Calls visit(KernelCall, items) in the order in which they must run. `partials` has partial_floats()
/// floats.
template <typename Visit>
void each_kernel_call(const RowCall& call, float* partials, Visit visit) {
  const auto queue = [&](const auto& one) {
    if (const Index count = items(one); count > 0) visit(KernelCall(one), count);
  };
  std::visit(
      Each{[&](const LayerNormBackward& c) {
             const Index chunks = chunks_of(c.rows);
             float* gains = partials + chunks * c.width;
             queue(LayerNormInput{c});
             queue(ChunkSums{c.rows, c.width, c.out_gradient, c.x, c.statistics, partials, gains});
             queue(ChunkTotals{chunks, c.width, partials, gains, c.bias_gradient_sum, c.gain_gradient_sum});
           },
           [&](const RmsNormBackward& c) {
             queue(RmsNormInput{c});
             queue(ChunkSums{c.rows, c.width, c.out_gradient, c.x, c.statistics, nullptr, partials});
             queue(ChunkTotals{chunks_of(c.rows), c.width, nullptr, partials, nullptr, c.gain_gradient_sum});
           },
           [&](const BiasBackward& c) {
             queue(ChunkSums{c.rows, c.width, c.out_gradient, nullptr, nullptr, partials, nullptr});
             queue(ChunkTotals{chunks_of(c.rows), c.width, partials, nullptr, c.bias_gradient_sum, nullptr});
           },
           [&](const AdamWStep& c) {
             queue(AdamWElements{parts::factors_of(c.settings), c.count, c.parameters, c.gradients, c.mean,
                                 c.variance});
           },
           queue},
      call);
}

}  // namespace weir::trainer::gpu
