// SPDX-License-Identifier: Apache-2.0

#include <cstring>

#include "trainer/math/rows.h"

namespace weir::trainer {
namespace {

// Calls visit(row, head, offset by head) for each piece of `size` floats that is contiguous in both forms.
template <typename Visit>
void for_each_piece(const HeadShape& shape, Visit visit) {
  for (Index sequence = 0; sequence < shape.sequences; ++sequence)
    for (Index position = 0; position < shape.length; ++position)
      for (Index head = 0; head < shape.heads; ++head)
        visit(sequence * shape.length + position, head,
              ((sequence * shape.heads + head) * shape.length + position) * shape.size);
}

[[gnu::always_inline]] inline void add_piece(Index size, const float* a, const float* b, float* sum) {
  for (Index at = 0; at < size; ++at) sum[at] = a[at] + b[at];
}

}  // namespace

void split_queries_keys_values(const HeadShape& shape, const float* rows, const float* bias, float* queries,
                               float* keys, float* values) {
  const Index width = shape.heads * shape.size;
  for_each_piece(shape, [&](Index row, Index head, Index by_head) {
    const float* from = rows + row * 3 * width + head * shape.size;
    const float* own_bias = bias + head * shape.size;
    add_piece(shape.size, from, own_bias, queries + by_head);
    add_piece(shape.size, from + width, own_bias + width, keys + by_head);
    add_piece(shape.size, from + 2 * width, own_bias + 2 * width, values + by_head);
  });
}

void join_queries_keys_values(const HeadShape& shape, const float* queries, const float* keys,
                              const float* values, float* rows) {
  const Index width = shape.heads * shape.size;
  const size_t bytes = static_cast<size_t>(shape.size) * sizeof(float);
  for_each_piece(shape, [&](Index row, Index head, Index by_head) {
    float* to = rows + row * 3 * width + head * shape.size;
    std::memcpy(to, queries + by_head, bytes);
    std::memcpy(to + width, keys + by_head, bytes);
    std::memcpy(to + 2 * width, values + by_head, bytes);
  });
}

void split_heads(const HeadShape& shape, const float* rows, float* heads) {
  const Index width = shape.heads * shape.size;
  for_each_piece(shape, [&](Index row, Index head, Index by_head) {
    std::memcpy(heads + by_head, rows + row * width + head * shape.size,
                static_cast<size_t>(shape.size) * sizeof(float));
  });
}

void join_heads(const HeadShape& shape, const float* heads, float* rows) {
  const Index width = shape.heads * shape.size;
  for_each_piece(shape, [&](Index row, Index head, Index by_head) {
    std::memcpy(rows + row * width + head * shape.size, heads + by_head,
                static_cast<size_t>(shape.size) * sizeof(float));
  });
}

}  // namespace weir::trainer
