// SPDX-License-Identifier: Apache-2.0
/// Causal attention of heads in tiles of queries: out = softmax(scale * queries keys^T) values, where a
/// position sees itself and those before it, in packed sequences only those of its own document.
///
/// A tile of 64 queries meets only the keys up to its last query, so that the masked half is not computed but
/// for the corners of tiles, and no array has length x length elements. Backward computes the probabilities
/// again, tile by tile, as in FlashAttention (Dao et al., 2022). Tiles depend on the length alone, and sums
/// over them have one order: the same shape has the same bits.
///
/// With fewer heads of keys and values than of queries, consecutive heads of queries share one (grouped-query
/// attention, Ainslie et al., 2023). Pure functions; errors are those of the Ops.
/// Tests: tests/trainer/attention_test.cc
#pragma once

#include "trainer/model/carver.h"
#include "trainer/model/unit.h"

namespace weir::trainer {

struct AttentionShape {
  Index sequences = 0;
  Index length = 0;           ///< tokens per sequence
  Index heads = 0;            ///< heads of queries
  Index key_value_heads = 0;  ///< a divisor of `heads`
  Index size = 0;             ///< floats per head and token
  /// [sequences, length]: the position of the first token that each token sees; null: all see the first one.
  const Token* starts = nullptr;

  Index group() const { return heads / key_value_heads; }
  HeadShape queries() const { return {sequences, length, heads, size}; }
  HeadShape keys() const { return {sequences, length, key_value_heads, size}; }
  Index query_floats() const { return sequences * length * heads * size; }
  Index key_floats() const { return sequences * length * key_value_heads * size; }
};

/// Scratch floats of one forward or backward pass.
Index causal_attention_scratch(const AttentionShape& shape);

/// `queries` and `out` are [sequences, heads, length, size], `keys` and `values` [sequences, key_value_heads,
/// length, size].
void causal_attention(Ops& ops, const AttentionShape& shape, const float* queries, const float* keys,
                      const float* values, float* out, Carver scratch);

/// Writes the gradients of queries, keys and values, given that of `out`.
struct AttentionGradients {
  float* queries;
  float* keys;
  float* values;
};
void causal_attention_backward(Ops& ops, const AttentionShape& shape, const float* queries, const float* keys,
                               const float* values, const float* out_gradient,
                               const AttentionGradients& gradients, Carver scratch);

}  // namespace weir::trainer
