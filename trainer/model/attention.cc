// SPDX-License-Identifier: Apache-2.0

#include "trainer/model/attention.h"

#include <algorithm>
#include <cmath>

namespace weir::trainer {
namespace {

constexpr Index kTileRows = 64;

/// The products of one tile: the queries [first, first + rows) of every group's n-th head.
struct Tile {
  const AttentionShape& shape;
  Index first;
  Index rows;

  Index seen() const { return first + rows; }
  Index matrices() const { return shape.sequences * shape.key_value_heads; }
  SeenFrom from() const { return {shape.key_value_heads, shape.length, shape.starts}; }
  float scale() const { return 1.0f / std::sqrt(static_cast<float>(shape.size)); }
  Index query_stride() const { return shape.group() * shape.length * shape.size; }
  Index key_stride() const { return shape.length * shape.size; }

  /// [rows, seen] = queries keys^T
  ProductShape to_scores() const {
    return {.count = matrices(),
            .rows = rows,
            .depth = shape.size,
            .columns = seen(),
            .transpose_b = true,
            .stride_a = query_stride(),
            .stride_b = key_stride()};
  }
  /// queries = scores keys, as also out = probabilities values.
  ProductShape to_queries() const {
    return {.count = matrices(),
            .rows = rows,
            .depth = seen(),
            .columns = shape.size,
            .stride_b = key_stride(),
            .stride_c = query_stride()};
  }
  /// keys += scores^T queries
  ProductShape to_keys() const {
    return {.count = matrices(),
            .rows = seen(),
            .depth = rows,
            .columns = shape.size,
            .transpose_a = true,
            .accumulate = true,
            .stride_b = query_stride(),
            .stride_c = key_stride()};
  }
};

/// Calls visit(tile, offset of its queries) for each tile and each head of a group, in order.
template <typename Visit>
void for_each_tile(const AttentionShape& shape, Visit visit) {
  for (Index first = 0; first < shape.length; first += kTileRows) {
    const Tile tile{shape, first, std::min(kTileRows, shape.length - first)};
    for (Index member = 0; member < shape.group(); ++member)
      visit(tile, (member * shape.length + first) * shape.size);
  }
}

Index tile_floats(const AttentionShape& shape) {
  return shape.sequences * shape.key_value_heads * std::min(kTileRows, shape.length) * shape.length;
}

void probabilities(Ops& ops, const Tile& tile, const float* queries, const float* keys, float* result) {
  ops.run(tile.to_scores(), queries, keys, result);
  ops.run(CausalSoftmaxForward{tile.matrices(), tile.rows, tile.seen(), tile.first, tile.from(), tile.scale(),
                               result});
}

}  // namespace

Index causal_attention_scratch(const AttentionShape& shape) {
  Carver scratch(nullptr);
  scratch.take(tile_floats(shape));
  scratch.take(tile_floats(shape));
  return scratch.used();
}

void causal_attention(Ops& ops, const AttentionShape& shape, const float* queries, const float* keys,
                      const float* values, float* out, Carver scratch) {
  float* const weights = scratch.take(tile_floats(shape));
  for_each_tile(shape, [&](const Tile& tile, Index at) {
    probabilities(ops, tile, queries + at, keys, weights);
    ops.run(tile.to_queries(), weights, values, out + at);
  });
}

void causal_attention_backward(Ops& ops, const AttentionShape& shape, const float* queries, const float* keys,
                               const float* values, const float* out_gradient,
                               const AttentionGradients& gradients, Carver scratch) {
  float* const weights = scratch.take(tile_floats(shape));
  float* const scores = scratch.take(tile_floats(shape));
  ops.clear(shape.key_floats(), gradients.keys);
  ops.clear(shape.key_floats(), gradients.values);
  for_each_tile(shape, [&](const Tile& tile, Index at) {
    probabilities(ops, tile, queries + at, keys, weights);
    ops.run(tile.to_keys(), weights, out_gradient + at, gradients.values);
    ops.run(tile.to_scores(), out_gradient + at, values, scores);
    ops.run(CausalSoftmaxBackward{tile.matrices(), tile.rows, tile.seen(), tile.first, tile.from(),
                                  tile.scale(), weights, scores});
    ops.run(tile.to_queries(), scores, keys, gradients.queries + at);
    ops.run(tile.to_keys(), scores, queries + at, gradients.keys);
  });
}

}  // namespace weir::trainer
