// SPDX-License-Identifier: Apache-2.0
// Attention in tiles: its values against formulas in fp64, and its gradients against their central
// differences, for lengths of one and of several tiles and for shared heads of keys and values.
#include "trainer/model/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "tests/trainer/reference.h"
#include "trainer/math/buffer.h"

namespace weir::trainer {
namespace {

using reference::random_values;
using reference::to_floats;
using reference::Values;

/// The attention of one head to itself and what is before it: [length, size] each.
Values one_head(size_t length, size_t size, const double* queries, const double* keys, const double* values) {
  Values scores(length * length);
  for (size_t i = 0; i < length; ++i)
    for (size_t j = 0; j < length; ++j)
      for (size_t e = 0; e < size; ++e) scores[i * length + j] += queries[i * size + e] * keys[j * size + e];
  const Values weights =
      reference::causal_softmax(length, 1 / std::sqrt(static_cast<double>(size)), scores.data());
  Values out(length * size);
  for (size_t i = 0; i < length; ++i)
    for (size_t j = 0; j <= i; ++j)
      for (size_t e = 0; e < size; ++e) out[i * size + e] += weights[i * length + j] * values[j * size + e];
  return out;
}

struct Inputs {
  explicit Inputs(const AttentionShape& shape)
      : queries(random_values(static_cast<size_t>(shape.query_floats()), 1)),
        keys(random_values(static_cast<size_t>(shape.key_floats()), 2)),
        values(random_values(static_cast<size_t>(shape.key_floats()), 3)) {}
  Values queries, keys, values;
};

Values attention_of(const AttentionShape& shape, const Inputs& in) {
  const auto head_floats = static_cast<size_t>(shape.length * shape.size);
  Values out;
  for (size_t head = 0; head < static_cast<size_t>(shape.sequences * shape.heads); ++head) {
    const size_t shared = head / static_cast<size_t>(shape.group()) * head_floats;
    const Values own =
        one_head(static_cast<size_t>(shape.length), static_cast<size_t>(shape.size),
                 in.queries.data() + head * head_floats, in.keys.data() + shared, in.values.data() + shared);
    out.insert(out.end(), own.begin(), own.end());
  }
  return out;
}

struct Computed {
  std::vector<float> out, queries, keys, values;
};

Computed compute(const AttentionShape& shape, const Inputs& in, const Values& out_gradient) {
  CpuOps ops(Precision::fp32);
  Buffer scratch(causal_attention_scratch(shape));
  const std::vector<float> queries = to_floats(in.queries), keys = to_floats(in.keys),
                           values = to_floats(in.values), gradient = to_floats(out_gradient);
  // What was in the results must not matter.
  Computed computed{std::vector<float>(queries.size(), 7), std::vector<float>(queries.size(), 7),
                    std::vector<float>(keys.size(), 7), std::vector<float>(keys.size(), 7)};
  causal_attention(ops, shape, queries.data(), keys.data(), values.data(), computed.out.data(),
                   Carver(scratch.data()));
  causal_attention_backward(ops, shape, queries.data(), keys.data(), values.data(), gradient.data(),
                            {computed.queries.data(), computed.keys.data(), computed.values.data()},
                            Carver(scratch.data()));
  EXPECT_TRUE(ops.status().ok()) << ops.status().message();
  return computed;
}

class Attention : public testing::TestWithParam<std::tuple<Index, Index>> {};
INSTANTIATE_TEST_SUITE_P(LengthsAndGroups, Attention,
                         testing::Combine(testing::Values(1, 7, 64, 65, 150), testing::Values(1, 2, 4)));

TEST_P(Attention, IsThatOfTheFormulas) {
  const auto [length, group] = GetParam();
  const AttentionShape shape{2, length, 4, 4 / group, 6};
  Inputs in(shape);
  const Values weights = random_values(in.queries.size(), 4);
  const Computed got = compute(shape, in, weights);
  const Values expected = attention_of(shape, in);
  for (size_t at = 0; at < expected.size(); ++at)
    ASSERT_NEAR(static_cast<double>(got.out[at]), expected[at], 2e-6) << at;
  const auto weighted = [&] {
    const Values out = attention_of(shape, in);
    double sum = 0;
    for (size_t at = 0; at < out.size(); ++at) sum += weights[at] * out[at];
    return sum;
  };
  // Some elements of each: the first and the last one, and some between them.
  for (auto [gradient, values] :
       {std::pair{&got.queries, &in.queries}, {&got.keys, &in.keys}, {&got.values, &in.values}})
    for (size_t nth = 0; nth < 6; ++nth) {
      const size_t at = nth * (values->size() - 1) / 5;
      ASSERT_NEAR(static_cast<double>((*gradient)[at]), reference::slope(weighted, (*values)[at]), 1e-5)
          << "array "
          << (gradient == &got.queries ? "queries"
              : gradient == &got.keys  ? "keys"
                                       : "values")
          << " at " << at;
    }
}

TEST(AttentionOfDocuments, IsThatOfEachDocumentAlone) {
  constexpr Index kLength = 100, kSecond = 30, kThird = 90;
  const AttentionShape alone{1, kLength, 2, 1, 6};
  std::vector<Token> starts;
  for (Index at = 0; at < kLength; ++at)
    starts.push_back(at < kSecond ? 0 : static_cast<Token>(at < kThird ? kSecond : kThird));
  AttentionShape packed = alone;
  packed.starts = starts.data();
  const Inputs in(alone);
  const Values weights = random_values(in.queries.size(), 4);
  const Computed got = compute(packed, in, weights);
  for (const auto& [begin, end] : {std::pair{Index{0}, kSecond}, {kSecond, kThird}, {kThird, kLength}}) {
    const auto part = [first = begin, last = end](const auto& all) {  // of each head
      std::decay_t<decltype(all)> cut;
      for (Index head = 0; head * kLength * 6 < static_cast<Index>(all.size()); ++head)
        cut.insert(cut.end(), all.begin() + (head * kLength + first) * 6,
                   all.begin() + (head * kLength + last) * 6);
      return cut;
    };
    AttentionShape shape = alone;
    shape.length = end - begin;
    Inputs of_document(shape);
    of_document.queries = part(in.queries);
    of_document.keys = part(in.keys);
    of_document.values = part(in.values);
    const Computed expected = compute(shape, of_document, part(weights));
    for (auto [array, other] : {std::pair{&got.out, &expected.out},
                                {&got.queries, &expected.queries},
                                {&got.keys, &expected.keys},
                                {&got.values, &expected.values}}) {
      const std::vector<float> own = part(*array);
      ASSERT_EQ(own.size(), other->size());
      for (size_t at = 0; at < own.size(); ++at) ASSERT_NEAR(own[at], (*other)[at], 2e-6);
    }
  }
}

TEST(AttentionMemory, DoesNotGrowWithTheSquareOfTheLength) {
  const auto floats = [](Index length) { return causal_attention_scratch({1, length, 1, 1, 16}); };
  EXPECT_EQ(floats(2048), 2 * floats(1024));
  EXPECT_LE(floats(1024), 2 * 64 * 1024);
}

}  // namespace
}  // namespace weir::trainer
