// SPDX-License-Identifier: Apache-2.0
/// What the one kernel of the trainer's row operations is passed: which call it is, and the call. On a GPU
/// the threads come in teams of sixteen (lanes.h), each of which takes every so many-th item of a call, say a
/// row. No item depends on which team takes it, so neither do the bits on how many there are.
#pragma once

#include <cstring>

#include "trainer/math/row_calls.h"
#include "trainer/math/row_parts.h"

namespace weir::trainer::gpu {

/// Rows whose sum by column is taken first. What a parameter's gradient adds up to then depends on their
/// number alone: sums of so many rows are added in order.
inline constexpr Index kChunkRows = 32;

/// The halves of LayerNormBackward and of BiasBackward: gradients of x, sums of chunks of rows, and their
/// sums. `x` and `gain_partials` are null for biases alone. Partials are [chunks, width].
struct LayerNormInput {
  LayerNormBackward call;
};
struct ChunkSums {
  Index rows, width;
  const float *out_gradient, *x, *statistics;
  float *bias_partials, *gain_partials;
};
struct ChunkTotals {
  Index chunks, width;
  const float *bias_partials, *gain_partials;
  float *bias_sum, *gain_sum;
};
struct AdamWElements {
  parts::AdamWFactors factors;
  Index count;
  float* parameters;
  const float* gradients;
  float *mean, *variance;
};

/// What the kernel does; LayerNormBackward, BiasBackward and AdamWStep are made of others.
using KernelCall =
    std::variant<LayerNormForward, LayerNormInput, ChunkSums, ChunkTotals, AddBiasAndResidual,
                 BiasGeluForward, GeluForward, GeluBackward, SplitQueriesKeysValues, JoinQueriesKeysValues,
                 SplitHeads, JoinHeads, CausalSoftmaxForward, CausalSoftmaxBackward, CrossEntropyForward,
                 CrossEntropyBackward, EmbeddingForward, EmbeddingBackward, Add, Scale, ToBfloat16,
                 FromBfloat16, AddBfloat16, AdamWElements, SquareBlocks>;

struct RowLaunch {
  static constexpr size_t kCallBytes = 104;

  uint64_t kind;  ///< which of KernelCall
  alignas(8) char call[kCallBytes];
};

inline RowLaunch launch_of(const KernelCall& call) {
  RowLaunch launch{};
  launch.kind = call.index();
  std::visit(
      [&](const auto& one) {
        static_assert(sizeof(one) <= RowLaunch::kCallBytes);
        std::memcpy(launch.call, &one, sizeof(one));
      },
      call);
  return launch;
}

}  // namespace weir::trainer::gpu
