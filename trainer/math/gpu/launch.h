// SPDX-License-Identifier: Apache-2.0
/// The argument of the trainer's only kernel for row operations: which call it is, and the call. On a GPU the
/// threads form teams of sixteen (lanes.h); a team takes every n-th item of a call, say a row, where n is the
/// number of teams. No item depends on which team takes it, so the bits do not depend on the number of teams.
#pragma once

#include <cstring>

#include "trainer/math/row_calls.h"
#include "trainer/math/row_parts.h"

namespace weir::trainer::gpu {

/// Rows per chunk; the columns of each chunk are summed first, then the chunks in order. The gradient of a
/// parameter therefore depends only on the number of rows.
inline constexpr Index kChunkRows = 32;

/// The two halves of LayerNormBackward, RmsNormBackward and BiasBackward: gradients of x with sums over
/// chunks of rows, and the sums of these. `x` and `gain_partials` are null for biases alone, `bias_partials`
/// for gains alone. Partials are [chunks, width].
struct LayerNormInput {
  LayerNormBackward call;
};
struct RmsNormInput {
  RmsNormBackward call;
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
/// The parts of EmbeddingBackward. First the rows are sorted by token, rows with the same token by number:
/// chunks of kSortedRows, then pairs of sorted runs of `run` rows each into one, until one run is left
/// (a stable merge sort in which each row finds its place by itself; D. E. Knuth, The Art of Computer
/// Programming 3, 5.2.4). Then each token's rows are added up. The work is proportional to rows * width, and
/// rows * log(rows)^2 for sorting. `order`, `from` and `to` are the numbers of rows, [rows].
inline constexpr Index kSortedRows = 64;
struct SortRowChunks {
  Index rows;
  const Token* tokens;
  uint32_t* order;
};
struct MergeRowRuns {
  Index rows, run;
  const Token* tokens;
  const uint32_t* from;
  uint32_t* to;
};
struct EmbeddingSums {
  EmbeddingBackward call;
  const uint32_t* order;
};
struct AdamWElements {
  parts::AdamWFactors factors;
  Index count;
  float* parameters;
  const float* gradients;
  float *mean, *variance;
};

/// The calls that the kernel implements; LayerNormBackward, RmsNormBackward, BiasBackward, EmbeddingBackward
/// and AdamWStep consist of others.
using KernelCall =
    std::variant<LayerNormForward, LayerNormInput, ChunkSums, ChunkTotals, AddBiasAndResidual,
                 BiasGeluForward, GeluForward, GeluBackward, SplitQueriesKeysValues, JoinQueriesKeysValues,
                 SplitHeads, JoinHeads, CausalSoftmaxForward, CausalSoftmaxBackward, CrossEntropyForward,
                 CrossEntropyBackward, EmbeddingForward, SortRowChunks, MergeRowRuns, EmbeddingSums, Add,
                 Scale, ToBfloat16, FromBfloat16, AddBfloat16, AdamWElements, SquareBlocks, RmsNormForward,
                 RmsNormInput, SwiGluForward, SwiGluBackward, RotaryFrequencies, Rotate>;

struct RowLaunch {
  static constexpr size_t kCallBytes = 104;

  uint64_t kind;  ///< index of the alternative in KernelCall
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
