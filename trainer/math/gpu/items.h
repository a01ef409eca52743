// SPDX-License-Identifier: Apache-2.0
/// The number of items of each kernel call, for the host, which launches as many teams, and for the kernel.
#pragma once

#include "trainer/math/gpu/launch.h"

#if defined(__CUDACC__)
#define WEIR_TRAINER_BOTH __host__ __device__ inline
#else
#define WEIR_TRAINER_BOTH inline
#endif

namespace weir::trainer::gpu {

inline constexpr Index kSquareBlockValues = 1024;

/// A piece has sixteen elements; the last one may have fewer.
WEIR_TRAINER_BOTH Index pieces(Index count) { return (count + kLanes - 1) / kLanes; }
WEIR_TRAINER_BOTH Index chunks_of(Index rows) { return (rows + kChunkRows - 1) / kChunkRows; }
WEIR_TRAINER_BOTH Index rows_of(const HeadShape& shape) {
  return shape.sequences * shape.length * shape.heads;
}

WEIR_TRAINER_BOTH Index items(const LayerNormForward& c) { return c.rows; }
WEIR_TRAINER_BOTH Index items(const LayerNormInput& c) { return c.call.rows; }
WEIR_TRAINER_BOTH Index items(const RmsNormForward& c) { return c.rows; }
WEIR_TRAINER_BOTH Index items(const RmsNormInput& c) { return c.call.rows; }
WEIR_TRAINER_BOTH Index items(const ChunkSums& c) { return chunks_of(c.rows) * pieces(c.width); }
WEIR_TRAINER_BOTH Index items(const ChunkTotals& c) { return pieces(c.width); }
WEIR_TRAINER_BOTH Index items(const AddBiasAndResidual& c) { return c.rows; }
WEIR_TRAINER_BOTH Index items(const BiasGeluForward& c) { return c.rows; }
WEIR_TRAINER_BOTH Index items(const GeluForward& c) { return pieces(c.count); }
WEIR_TRAINER_BOTH Index items(const GeluBackward& c) { return pieces(c.count); }
WEIR_TRAINER_BOTH Index items(const SwiGluForward& c) { return pieces(c.count); }
WEIR_TRAINER_BOTH Index items(const SwiGluBackward& c) { return pieces(c.count); }
WEIR_TRAINER_BOTH Index items(const RotaryFrequencies& c) { return pieces(c.size / 2); }
WEIR_TRAINER_BOTH Index items(const Rotate& c) { return rows_of(c.shape); }
WEIR_TRAINER_BOTH Index items(const SplitQueriesKeysValues& c) { return rows_of(c.shape); }
WEIR_TRAINER_BOTH Index items(const JoinQueriesKeysValues& c) { return rows_of(c.shape); }
WEIR_TRAINER_BOTH Index items(const SplitHeads& c) { return rows_of(c.shape); }
WEIR_TRAINER_BOTH Index items(const JoinHeads& c) { return rows_of(c.shape); }
WEIR_TRAINER_BOTH Index items(const CausalSoftmaxForward& c) { return c.matrices * c.rows; }
WEIR_TRAINER_BOTH Index items(const CausalSoftmaxBackward& c) { return c.matrices * c.rows; }
WEIR_TRAINER_BOTH Index items(const CrossEntropyForward& c) { return c.rows; }
WEIR_TRAINER_BOTH Index items(const CrossEntropyBackward& c) { return c.rows; }
WEIR_TRAINER_BOTH Index items(const EmbeddingForward& c) { return c.rows; }
WEIR_TRAINER_BOTH Index items(const SortRowChunks& c) { return pieces(c.rows); }
WEIR_TRAINER_BOTH Index items(const MergeRowRuns& c) { return pieces(c.rows); }
/// First each place of the order, where the first one of a token adds up all of its rows; then the row of
/// each position, if there is a table of them.
WEIR_TRAINER_BOTH Index items(const EmbeddingSums& c) {
  const Index positions = c.call.position_table_gradient_sum != nullptr ? c.call.length : 0;
  return (c.call.rows + positions) * pieces(c.call.width);
}
WEIR_TRAINER_BOTH Index items(const Add& c) { return pieces(c.count); }
WEIR_TRAINER_BOTH Index items(const Scale& c) { return pieces(c.count); }
WEIR_TRAINER_BOTH Index items(const ToBfloat16& c) { return pieces(c.count); }
WEIR_TRAINER_BOTH Index items(const FromBfloat16& c) { return pieces(c.count); }
WEIR_TRAINER_BOTH Index items(const AddBfloat16& c) { return pieces(c.count); }
WEIR_TRAINER_BOTH Index items(const AdamWElements& c) { return pieces(c.count); }
WEIR_TRAINER_BOTH Index items(const SquareBlocks& c) {
  return (c.count + kSquareBlockValues - 1) / kSquareBlockValues;
}

}  // namespace weir::trainer::gpu
