// SPDX-License-Identifier: Apache-2.0
#include "trainer/math/orthogonalise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/trainer/reference.h"

namespace weir::trainer {
namespace {

std::vector<float> numbers(Index count) {
  std::vector<float> values;
  for (Index at = 0; at < count; ++at) values.push_back(static_cast<float>(at * 7919 % 1009) / 504.5f - 1.0f);
  return values;
}

std::vector<float> orthogonal(Index rows, Index columns, std::vector<float> x) {
  Products products(Precision::fp32);
  std::vector<float> scratch(static_cast<size_t>(orthogonalise_scratch(rows, columns)));
  orthogonalise(products, rows, columns, x.data(), scratch.data());
  EXPECT_TRUE(products.status().ok()) << products.status().message();
  return x;
}

TEST(Orthogonalise, IsTheIterationOfItsDefinition) {
  for (const auto& [rows, columns] : {std::pair<Index, Index>{8, 8}, {5, 17}, {17, 5}, {64, 16}, {1, 3}}) {
    const auto x = numbers(rows * columns);
    const auto expected = reference::newton_schulz(rows, columns, {x.begin(), x.end()});
    const auto found = orthogonal(rows, columns, x);
    for (size_t at = 0; at < found.size(); ++at)
      EXPECT_NEAR(found[at], expected[at], 1e-4) << rows << " x " << columns << " at " << at;
  }
}

/// Those of a diagonal matrix are its elements.
TEST(Orthogonalise, BringsSingularValuesNearOne) {
  std::vector<float> x(9 * 12);
  for (int at = 0; at < 9; ++at)
    x[static_cast<size_t>(at * 12 + at)] = 100.0f / static_cast<float>(1 + at * at);
  const auto found = orthogonal(9, 12, x);
  for (int row = 0; row < 9; ++row)
    for (int column = 0; column < 12; ++column) {
      const float value = found[static_cast<size_t>(row * 12 + column)];
      if (row == column)
        EXPECT_THAT(value, ::testing::AllOf(::testing::Gt(0.67f), ::testing::Lt(1.15f))) << row;
      else
        EXPECT_NEAR(value, 0.0f, 1e-6f);
    }
}

TEST(Orthogonalise, ZeroStaysZero) {
  EXPECT_THAT(orthogonal(4, 6, std::vector<float>(24)), ::testing::Each(0.0f));
}

}  // namespace
}  // namespace weir::trainer
