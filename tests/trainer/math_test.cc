// SPDX-License-Identifier: Apache-2.0
// Products, random numbers and sums in a tree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/trainer/reference.h"
#include "trainer/math/philox.h"
#include "trainer/math/products.h"
#include "trainer/math/rows.h"

namespace weir::trainer {
namespace {

using reference::random_values;
using reference::to_floats;
using reference::Values;

// op(A) op(B) + what was there, element by element.
Values product(const ProductShape& shape, const Values& a, const Values& b, const Values& c) {
  const auto n = [](Index value) { return static_cast<size_t>(value); };
  Values out = shape.accumulate ? c : Values(c.size());
  for (size_t matrix = 0; matrix < n(shape.count); ++matrix)
    for (size_t i = 0; i < n(shape.rows); ++i)
      for (size_t j = 0; j < n(shape.columns); ++j)
        for (size_t k = 0; k < n(shape.depth); ++k) {
          const size_t in_a = shape.transpose_a ? k * n(shape.rows) + i : i * n(shape.depth) + k;
          const size_t in_b = shape.transpose_b ? j * n(shape.depth) + k : k * n(shape.columns) + j;
          out[(matrix * n(shape.rows) + i) * n(shape.columns) + j] +=
              a[matrix * n(shape.rows * shape.depth) + in_a] *
              b[matrix * n(shape.depth * shape.columns) + in_b];
        }
  return out;
}

class ProductsTest : public testing::TestWithParam<Precision> {};
INSTANTIATE_TEST_SUITE_P(Precisions, ProductsTest, testing::Values(Precision::fp32, Precision::bf16));

TEST_P(ProductsTest, EveryLayout) {
  Products products(GetParam());
  // Numbers of bf16 have exact products, so that both precisions have the same tolerance.
  const auto exact = [](size_t count, uint32_t stream) {
    std::vector<float> values = to_floats(random_values(count, stream));
    round_to_bfloat16(static_cast<Index>(count), values.data(), values.data());
    return values;
  };
  for (const auto& [count, rows] : {std::pair<Index, Index>{1, 7}, {3, 7}, {1, 512}}) {
    for (int layout = 0; layout < 8; ++layout) {
      const ProductShape shape{.count = count,
                               .rows = rows,
                               .depth = 20,
                               .columns = 33,
                               .transpose_a = (layout & 1) != 0,
                               .transpose_b = (layout & 2) != 0,
                               .accumulate = (layout & 4) != 0};
      const std::vector<float> a = exact(static_cast<size_t>(count * rows * 20), 1);
      const std::vector<float> b = exact(static_cast<size_t>(count * 20 * 33), 2);
      std::vector<float> c = exact(static_cast<size_t>(count * rows * 33), 3);
      const Values expected =
          product(shape, {a.begin(), a.end()}, {b.begin(), b.end()}, {c.begin(), c.end()});
      products.run(shape, a.data(), b.data(), c.data());
      ASSERT_TRUE(products.status().ok()) << products.status().message();
      for (size_t at = 0; at < c.size(); ++at)
        ASSERT_NEAR(static_cast<double>(c[at]), expected[at], 1e-5) << "layout " << layout << " at " << at;
    }
  }
  EXPECT_EQ(products.runs(), 24);
  EXPECT_EQ(products.shapes(), 24);
}

TEST_P(ProductsTest, TheSameShapeGivesTheSameBitsInOtherObjectsAndAtOtherAddresses) {
  const ProductShape shape{.rows = 40, .depth = 65, .columns = 30};
  const std::vector<float> a = to_floats(random_values(40 * 65 + 1, 1));
  const std::vector<float> b = to_floats(random_values(65 * 30, 2));
  const std::vector<float> shifted(a.begin() + 1, a.end());
  std::vector<float> first(40 * 30);
  std::vector<float> second(40 * 30);
  Products(GetParam()).run(shape, a.data() + 1, b.data(), first.data());
  Products(GetParam()).run(shape, shifted.data(), b.data(), second.data());
  EXPECT_EQ(first, second);
}

TEST(Products, AShapeThatOneDnnRefusesIsTold) {
  Products products(Precision::fp32);
  float value = 0;
  products.run({.rows = -1, .depth = 1, .columns = 1}, &value, &value, &value);
  EXPECT_EQ(products.status().code(), Code::internal_error);
  EXPECT_THAT(products.status().message(), testing::HasSubstr("-1 x 1"));
  products.run({.rows = 1, .depth = 1, .columns = 1}, &value, &value, &value);
  EXPECT_EQ(products.runs(), 0);
}

TEST(Philox, KnownAnswers) {
  // From the authors' Random123 distribution, file kat_vectors.
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, NormalsHaveMeanAndDeviation) {
  constexpr size_t kBlocks = 25000;
  double sum = 0;
  double squares = 0;
  for (size_t at = 0; at < kBlocks; ++at)
    for (const float normal : to_normals(random_block(3, Purpose::initialise, 5, at))) {
      sum += static_cast<double>(normal);
      squares += static_cast<double>(normal) * static_cast<double>(normal);
    }
  EXPECT_NEAR(sum / (4 * kBlocks), 0, 5 / std::sqrt(4.0 * kBlocks));  // five standard errors
  EXPECT_NEAR(squares / (4 * kBlocks), 1, 5 * std::sqrt(2.0 / (4 * kBlocks)));
}

}  // namespace
}  // namespace weir::trainer
