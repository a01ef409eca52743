// SPDX-License-Identifier: Apache-2.0
/// Translates a row operation into kernel calls on a GPU: one call, or several with scratch memory in
/// between. Pure.
#pragma once

#include <utility>

#include "trainer/math/gpu/items.h"

namespace weir::trainer::gpu {

/// Bytes of what the operation keeps between its calls: sums of chunks, or two orders of rows.
inline size_t scratch_bytes(const RowCall& call) {
  const auto bytes = [](Index count) { return static_cast<size_t>(count) * sizeof(float); };
  return std::visit(
      Each{[&](const LayerNormBackward& c) { return bytes(2 * chunks_of(c.rows) * c.width); },
           [&](const RmsNormBackward& c) { return bytes(chunks_of(c.rows) * c.width); },
           [&](const BiasBackward& c) { return bytes(chunks_of(c.rows) * c.width); },
           [](const EmbeddingBackward& c) { return 2 * static_cast<size_t>(c.rows) * sizeof(uint32_t); },
           [](const auto&) { return size_t{0}; }},
      call);
}

/// Calls visit(KernelCall, items) in the order in which they must run. `scratch` has scratch_bytes() bytes.
template <typename Visit>
void each_kernel_call(const RowCall& call, void* scratch, Visit visit) {
  auto* const partials = static_cast<float*>(scratch);
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
           [&](const EmbeddingBackward& c) {
             auto* order = static_cast<uint32_t*>(scratch);
             uint32_t* other = order + c.rows;
             queue(SortRowChunks{c.rows, c.tokens, order});
             for (Index run = kSortedRows; run < c.rows; run *= 2, std::swap(order, other))
               queue(MergeRowRuns{c.rows, run, c.tokens, order, other});
             queue(EmbeddingSums{c, order});
           },
           [&](const AdamWStep& c) {
             queue(AdamWElements{parts::factors_of(c.settings), c.count, c.parameters, c.gradients, c.mean,
                                 c.variance});
           },
           queue},
      call);
}

}  // namespace weir::trainer::gpu
