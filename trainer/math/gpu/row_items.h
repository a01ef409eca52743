// SPDX-License-Identifier: Apache-2.0
/// One item of each call, computed by one team. On the host a team is one thread with all lanes.
#pragma once

#include "trainer/math/bfloat16.h"
#include "trainer/math/gpu/items.h"
#include "trainer/math/row_parts.h"

namespace weir::trainer::gpu {

/// Calls visit(at) for the elements [0, count) of the calling thread's lane (at % 16); on the host for all
/// elements.
template <typename Visit>
WEIR_TRAINER_INLINE void each_at(Index count, Visit visit) {
#if defined(__CUDACC__)
  for (Index at = own_lane(); at < count; at += kLanes) visit(at);
#else
  for (Index at = 0; at < count; ++at) visit(at);
#endif
}

/// Calls visit(at) as above, for the elements of one piece of an array of `count`.
template <typename Visit>
WEIR_TRAINER_INLINE void each_in_piece(Index piece, Index count, Visit visit) {
  const Index first = piece * kLanes;
  const Index rest = count - first;
  each_at(rest < kLanes ? rest : kLanes, [&](Index at) { visit(first + at); });
}

/// Calls visit() on one thread of the team.
template <typename Visit>
WEIR_TRAINER_INLINE void once(Visit visit) {
  each_at(1, [&](Index) { visit(); });
}

WEIR_TRAINER_INLINE void run_item(const LayerNormForward& c, Index row) {
  const float* x = c.x + row * c.width;
  float* out = c.out + row * c.width;
  const parts::Moments of = parts::moments(c.width, x);
  once([&] {
    c.statistics[2 * row] = of.mean;
    c.statistics[2 * row + 1] = of.reciprocal_deviation;
  });
  each_at(c.width,
          [&](Index at) { out[at] = (x[at] - of.mean) * of.reciprocal_deviation * c.gain[at] + c.bias[at]; });
}

WEIR_TRAINER_INLINE void run_item(const LayerNormInput& both, Index row) {
  const LayerNormBackward& c = both.call;
  const float* x = c.x + row * c.width;
  const float* out_gradient = c.out_gradient + row * c.width;
  float* x_gradient_sum = c.x_gradient_sum + row * c.width;
  const parts::Moments of{c.statistics[2 * row], c.statistics[2 * row + 1]};
  const parts::MeanGradients mean = parts::mean_gradients(c.width, out_gradient, x, c.gain, of);
  each_at(c.width, [&](Index at) {
    const float normalised = (x[at] - of.mean) * of.reciprocal_deviation;
    const float gradient = out_gradient[at] * c.gain[at] - mean.plain - normalised * mean.normalised;
    x_gradient_sum[at] += gradient * of.reciprocal_deviation;
  });
}

WEIR_TRAINER_INLINE void run_item(const ChunkSums& c, Index item) {
  const Index chunk = item / pieces(c.width);
  const Index first = chunk * kChunkRows;
  const Index end = first + kChunkRows < c.rows ? first + kChunkRows : c.rows;
  each_in_piece(item % pieces(c.width), c.width, [&](Index at) {
    float bias = 0;
    float gain = 0;
    for (Index row = first; row < end; ++row) {
      const float gradient = c.out_gradient[row * c.width + at];
      bias += gradient;
      if (c.x != nullptr)
        gain += gradient * ((c.x[row * c.width + at] - c.statistics[2 * row]) * c.statistics[2 * row + 1]);
    }
    if (c.bias_partials != nullptr) c.bias_partials[chunk * c.width + at] = bias;
    if (c.x != nullptr) c.gain_partials[chunk * c.width + at] = gain;
  });
}

WEIR_TRAINER_INLINE void run_item(const ChunkTotals& c, Index piece) {
  each_in_piece(piece, c.width, [&](Index at) {
    const auto add_up = [&](const float* partials, float* sum) {
      if (sum == nullptr) return;
      float total = sum[at];
      for (Index chunk = 0; chunk < c.chunks; ++chunk) total += partials[chunk * c.width + at];
      sum[at] = total;
    };
    add_up(c.bias_partials, c.bias_sum);
    add_up(c.gain_partials, c.gain_sum);
  });
}

WEIR_TRAINER_INLINE void run_item(const RmsNormForward& c, Index row) {
  const float* x = c.x + row * c.width;
  float* out = c.out + row * c.width;
  const parts::Moments of = parts::root_mean_square(c.width, x, c.epsilon);
  once([&] {
    c.statistics[2 * row] = of.mean;
    c.statistics[2 * row + 1] = of.reciprocal_deviation;
  });
  each_at(c.width, [&](Index at) { out[at] = x[at] * of.reciprocal_deviation * c.gain[at]; });
}

WEIR_TRAINER_INLINE void run_item(const RmsNormInput& both, Index row) {
  const RmsNormBackward& c = both.call;
  const float* x = c.x + row * c.width;
  const float* out_gradient = c.out_gradient + row * c.width;
  float* x_gradient_sum = c.x_gradient_sum + row * c.width;
  const parts::Moments of{0.0f, c.statistics[2 * row + 1]};
  const float mean = parts::mean_gradients(c.width, out_gradient, x, c.gain, of).normalised;
  each_at(c.width, [&](Index at) {
    const float normalised = x[at] * of.reciprocal_deviation;
    x_gradient_sum[at] += (out_gradient[at] * c.gain[at] - normalised * mean) * of.reciprocal_deviation;
  });
}

WEIR_TRAINER_INLINE void run_item(const SwiGluForward& c, Index piece) {
  const Index at = piece * kLanes;
  const Index rest = c.count - at < kLanes ? c.count - at : kLanes;
  const Lanes x = load_first(c.gate + at, rest, 0.0f);
  store_first(c.out + at, x * parts::logistic(x) * load_first(c.up + at, rest, 0.0f), rest);
}

WEIR_TRAINER_INLINE void run_item(const SwiGluBackward& c, Index piece) {
  const Index at = piece * kLanes;
  const Index rest = c.count - at < kLanes ? c.count - at : kLanes;
  const Lanes x = load_first(c.gate + at, rest, 0.0f);
  const Lanes out = load_first(c.gradient + at, rest, 0.0f);
  store_first(c.gate_gradient + at, out * load_first(c.up + at, rest, 0.0f) * parts::silu_gradient(x), rest);
  store_first(c.gradient + at, out * (x * parts::logistic(x)), rest);
}

WEIR_TRAINER_INLINE void run_item(const RotaryFrequencies& c, Index piece) {
  each_in_piece(piece, c.size / 2, [&](Index at) {
    c.frequencies[at] = parts::rotary_frequency(at, c.size, c.base, c.scaling);
  });
}

/// Items are rows of [sequences, heads, length].
WEIR_TRAINER_INLINE void run_item(const Rotate& c, Index item) {
  const Index half = c.shape.size / 2;
  const auto position = static_cast<float>(item % c.shape.length);
  float* const low = c.heads + item * c.shape.size;
  float* const high = low + half;
  each_at(half, [&](Index at) {
    const parts::Turn turn = parts::turn_of(position * c.frequencies[at]);
    const float sine = c.back ? -turn.sine : turn.sine;
    const float before = low[at];
    low[at] = before * turn.cosine - high[at] * sine;
    high[at] = high[at] * turn.cosine + before * sine;
  });
}

WEIR_TRAINER_INLINE void run_item(const AddBiasAndResidual& c, Index row) {
  float* out = c.out + row * c.width;
  const float* residual = c.residual + row * c.width;
  each_at(c.width, [&](Index at) { out[at] = out[at] + c.bias[at] + residual[at]; });
}

WEIR_TRAINER_INLINE void run_item(const BiasGeluForward& c, Index row) {
  float* x = c.x + row * c.width;
  float* out = c.out + row * c.width;
  Index at = 0;
  for (; at + kLanes <= c.width; at += kLanes) {
    const Lanes value = load(x + at) + load(c.bias + at);
    store(x + at, value);
    store(out + at, value * parts::gate(value));
  }
  if (at < c.width) {
    const Index rest = c.width - at;
    const Lanes value = load_first(x + at, rest, 0.0f) + load_first(c.bias + at, rest, 0.0f);
    store_first(x + at, value, rest);
    store_first(out + at, value * parts::gate(value), rest);
  }
}

WEIR_TRAINER_INLINE void run_item(const GeluForward& c, Index piece) {
  const Index at = piece * kLanes;
  const Index rest = c.count - at < kLanes ? c.count - at : kLanes;
  const Lanes value = load_first(c.x + at, rest, 0.0f);
  store_first(c.out + at, value * parts::gate(value), rest);
}

WEIR_TRAINER_INLINE void run_item(const GeluBackward& c, Index piece) {
  const Index at = piece * kLanes;
  const Index rest = c.count - at < kLanes ? c.count - at : kLanes;
  const Lanes product =
      load_first(c.gradient + at, rest, 0.0f) * parts::gelu_gradient(load_first(c.x + at, rest, 0.0f));
  store_first(c.gradient + at, product, rest);
}

/// The position of one head's piece: in rows, and by head.
struct HeadPiece {
  Index row, head, by_head;
};
WEIR_TRAINER_INLINE HeadPiece piece_of(const HeadShape& shape, Index item) {
  const Index head = item % shape.heads;
  const Index row = item / shape.heads;
  const Index position = row % shape.length;
  const Index sequence = row / shape.length;
  return {row, head, ((sequence * shape.heads + head) * shape.length + position) * shape.size};
}

WEIR_TRAINER_INLINE void run_item(const SplitQueriesKeysValues& c, Index item) {
  const Index width = c.shape.heads * c.shape.size;
  const HeadPiece piece = piece_of(c.shape, item);
  const float* from = c.rows + piece.row * 3 * width + piece.head * c.shape.size;
  const float* bias = c.bias + piece.head * c.shape.size;
  each_at(c.shape.size, [&](Index at) {
    c.queries[piece.by_head + at] = from[at] + bias[at];
    c.keys[piece.by_head + at] = from[width + at] + bias[width + at];
    c.values[piece.by_head + at] = from[2 * width + at] + bias[2 * width + at];
  });
}

WEIR_TRAINER_INLINE void run_item(const JoinQueriesKeysValues& c, Index item) {
  const Index width = c.shape.heads * c.shape.size;
  const HeadPiece piece = piece_of(c.shape, item);
  float* to = c.rows + piece.row * 3 * width + piece.head * c.shape.size;
  each_at(c.shape.size, [&](Index at) {
    to[at] = c.queries[piece.by_head + at];
    to[width + at] = c.keys[piece.by_head + at];
    to[2 * width + at] = c.values[piece.by_head + at];
  });
}

WEIR_TRAINER_INLINE void run_item(const SplitHeads& c, Index item) {
  const HeadPiece piece = piece_of(c.shape, item);
  const float* from = c.rows + (piece.row * c.shape.heads + piece.head) * c.shape.size;
  each_at(c.shape.size, [&](Index at) { c.heads[piece.by_head + at] = from[at]; });
}

WEIR_TRAINER_INLINE void run_item(const JoinHeads& c, Index item) {
  const HeadPiece piece = piece_of(c.shape, item);
  float* to = c.rows + (piece.row * c.shape.heads + piece.head) * c.shape.size;
  each_at(c.shape.size, [&](Index at) { to[at] = c.heads[piece.by_head + at]; });
}

WEIR_TRAINER_INLINE void run_item(const CausalSoftmaxForward& c, Index item) {
  float* scores = c.scores + item * c.columns;
  const Index position = c.first + item % c.rows;
  const Index start = parts::start_of(c.from, item / c.rows, position);
  float* seen = scores + start;
  const Index count = position + 1 - start;
  const float maximum = parts::row_maximum(count, seen);
  const float factor = 1.0f / parts::exponentials(count, seen, c.scale, maximum, seen);
  each_at(count, [&](Index at) { seen[at] *= factor; });
  each_at(start, [&](Index at) { scores[at] = 0.0f; });
  each_at(c.columns - position - 1, [&](Index at) { scores[position + 1 + at] = 0.0f; });
}

WEIR_TRAINER_INLINE void run_item(const CausalSoftmaxBackward& c, Index item) {
  const Index position = c.first + item % c.rows;
  const Index start = parts::start_of(c.from, item / c.rows, position);
  const float* probabilities = c.probabilities + item * c.columns;
  float* gradient = c.gradient + item * c.columns;
  const Index count = position + 1 - start;
  const float mean = parts::inner_product(count, probabilities + start, gradient + start);
  each_at(c.columns, [&](Index at) {
    const bool seen = at >= start && at <= position;
    gradient[at] = seen ? c.scale * probabilities[at] * (gradient[at] - mean) : 0.0f;
  });
}

WEIR_TRAINER_INLINE void run_item(const CrossEntropyForward& c, Index row) {
  const float loss =
      parts::cross_entropy(c.classes, c.logits + row * c.classes, static_cast<Index>(c.targets[row]));
  once([&] { c.losses[row] = loss; });
}

WEIR_TRAINER_INLINE void run_item(const CrossEntropyBackward& c, Index row) {
  const float* logits = c.logits + row * c.classes;
  float* gradient = c.logit_gradient + row * c.classes;
  const float maximum = parts::row_maximum(c.classes, logits);
  const float factor = c.scale / parts::exponentials(c.classes, logits, 1.0f, maximum, gradient);
  each_at(c.classes, [&](Index at) {
    const float value = gradient[at] * factor;
    gradient[at] = at == static_cast<Index>(c.targets[row]) ? value - c.scale : value;
  });
}

WEIR_TRAINER_INLINE void run_item(const EmbeddingForward& c, Index row) {
  const float* token = c.token_table + static_cast<Index>(c.tokens[row]) * c.width;
  float* out = c.out + row * c.width;
  if (c.position_table == nullptr) {
    each_at(c.width, [&](Index at) { out[at] = token[at]; });
    return;
  }
  const float* position = c.position_table + row % c.length * c.width;
  each_at(c.width, [&](Index at) { out[at] = token[at] + position[at]; });
}

/// The place of a row in its chunk is the number of rows there that come before it.
WEIR_TRAINER_INLINE void run_item(const SortRowChunks& c, Index piece) {
  each_in_piece(piece, c.rows, [&](Index row) {
    const Index first = row / kSortedRows * kSortedRows;
    const Index end = first + kSortedRows < c.rows ? first + kSortedRows : c.rows;
    const Token own = c.tokens[row];
    Index place = first;
    for (Index other = first; other < end; ++other)
      place += c.tokens[other] < own || (c.tokens[other] == own && other < row) ? 1 : 0;
    c.order[place] = static_cast<uint32_t>(row);
  });
}

/// The place of a row in both runs is that in its own plus the number of rows of the other run that come
/// before it. Rows of the first run have lower numbers.
WEIR_TRAINER_INLINE void run_item(const MergeRowRuns& c, Index piece) {
  each_in_piece(piece, c.rows, [&](Index at) {
    const uint32_t row = c.from[at];
    const Token own = c.tokens[row];
    const Index pair = at / (2 * c.run) * (2 * c.run);
    const bool is_first = at < pair + c.run;
    Index low = is_first ? pair + c.run : pair;
    Index high = low + c.run;
    if (low > c.rows) low = c.rows;
    if (high > c.rows) high = c.rows;
    const Index begin = low;
    while (low < high) {
      const Index middle = low + (high - low) / 2;
      const Token other = c.tokens[c.from[middle]];
      if (other < own || (other == own && !is_first))
        low = middle + 1;
      else
        high = middle;
    }
    c.to[(is_first ? at : at - c.run) + low - begin] = row;
  });
}

/// Adds in the order of rows, as the CPU does. One team writes a row of a table.
WEIR_TRAINER_INLINE void run_item(const EmbeddingSums& both, Index item) {
  const EmbeddingBackward& c = both.call;
  const Index place = item / pieces(c.width);
  const Index piece = item % pieces(c.width);
  if (place >= c.rows) {
    const Index position = place - c.rows;
    each_in_piece(piece, c.width, [&](Index at) {
      float sum = c.position_table_gradient_sum[position * c.width + at];
      for (Index row = position; row < c.rows; row += c.length) sum += c.out_gradient[row * c.width + at];
      c.position_table_gradient_sum[position * c.width + at] = sum;
    });
    return;
  }
  const Token token = c.tokens[both.order[place]];
  if (place > 0 && c.tokens[both.order[place - 1]] == token) return;
  float* const line = c.token_table_gradient_sum + static_cast<Index>(token) * c.width;
  each_in_piece(piece, c.width, [&](Index at) {
    float sum = line[at];
    for (Index next = place; next < c.rows && c.tokens[both.order[next]] == token; ++next)
      sum += c.out_gradient[static_cast<Index>(both.order[next]) * c.width + at];
    line[at] = sum;
  });
}

WEIR_TRAINER_INLINE void run_item(const Add& c, Index piece) {
  each_in_piece(piece, c.count, [&](Index at) { c.sum[at] += c.addend[at]; });
}

WEIR_TRAINER_INLINE void run_item(const Scale& c, Index piece) {
  each_in_piece(piece, c.count, [&](Index at) { c.values[at] *= c.factor; });
}

WEIR_TRAINER_INLINE void run_item(const ToBfloat16& c, Index piece) {
  each_in_piece(piece, c.count, [&](Index at) { c.to[at] = to_bfloat16(c.from[at]); });
}

WEIR_TRAINER_INLINE void run_item(const FromBfloat16& c, Index piece) {
  each_in_piece(piece, c.count, [&](Index at) { c.to[at] = from_bfloat16(c.from[at]); });
}

WEIR_TRAINER_INLINE void run_item(const AddBfloat16& c, Index piece) {
  each_in_piece(piece, c.count, [&](Index at) { c.sum[at] += from_bfloat16(c.from[at]); });
}

WEIR_TRAINER_INLINE void run_item(const AdamWElements& c, Index piece) {
  each_in_piece(piece, c.count, [&](Index at) {
    parts::adamw(c.factors, c.parameters[at], c.gradients[at], c.mean[at], c.variance[at]);
  });
}

WEIR_TRAINER_INLINE void run_item(const SquareBlocks& c, Index block) {
  const Index first = block * kSquareBlockValues;
  const Index rest = c.count - first < kSquareBlockValues ? c.count - first : kSquareBlockValues;
  const float sum = parts::sum_of_squares(rest, c.values + first);
  once([&] { c.sums[block] = sum; });
}

}  // namespace weir::trainer::gpu
