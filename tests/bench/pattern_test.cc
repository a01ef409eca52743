// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <set>
#include <vector>

namespace weir::perf {
namespace {

constexpr size_t kCount = 600;

template <typename T>
double number(T value) {
  return static_cast<double>(value);
}

template <typename T>
T rounded(double value) {
  if constexpr (kIsSmallFloat<T>)
    return T::from(value);
  else
    return static_cast<T>(value);
}

/// Every operation rounds to the type; integers wrap.
template <typename T>
T combine(T a, T b, Op op) {
  if (op == Op::max) return number(a) < number(b) ? b : a;
  if (op == Op::min) return number(b) < number(a) ? b : a;
  if constexpr (kIsFloat<T>) {
    return rounded<T>(op == Op::prod ? number(a) * number(b) : number(a) + number(b));
  } else {
    auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<T>(op == Op::prod ? x * y : x + y);
  }
}

template <typename T>
T prepared(T value, Op op, int rank, int ranks) {
  if constexpr (kIsFloat<T>) {
    if (op == Op::avg) return rounded<T>(number(value) * number(rounded<T>(1.0 / ranks)));
  }
  return op == Op::mulsum && Pattern::mulsum_factor(rank) == 2 ? combine(value, value, Op::sum) : value;
}

/// Reduces all ranks' inputs in a random order and shape, another one for each element.
template <typename T>
std::vector<T> reduce_anyhow(const Pattern& pattern, Op op, int ranks, size_t first, size_t count,
                             std::mt19937& random) {
  std::vector<std::vector<T>> inputs(static_cast<size_t>(ranks), std::vector<T>(count));
  for (int rank = 0; rank < ranks; ++rank)
    pattern.input(inputs[static_cast<size_t>(rank)].data(), rank, first, count);
  std::vector<T> results(count);
  for (size_t i = 0; i < count; ++i) {
    std::vector<T> values;
    for (int rank = 0; rank < ranks; ++rank)
      values.push_back(prepared(inputs[static_cast<size_t>(rank)][i], op, rank, ranks));
    std::shuffle(values.begin(), values.end(), random);
    while (values.size() > 1) {
      size_t at = random() % (values.size() - 1);
      values[at] = combine(values[at], values[at + 1], op);
      values.erase(values.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
    if constexpr (!kIsFloat<T>) {
      if (op == Op::avg) values[0] = static_cast<T>(values[0] / static_cast<T>(ranks));
    }
    results[i] = values[0];
  }
  return results;
}

class EveryTypeAndOp : public ::testing::TestWithParam<std::tuple<TypeInfo, OpInfo>> {};

TEST_P(EveryTypeAndOp, IsRightInAnyOrder) {
  const auto& [type, op] = GetParam();
  std::mt19937 random(1);
  for (int ranks : {1, 2, 3, 4, 7, 8, 16, 31, 64, 100}) {
    Pattern pattern(type, op.op, ranks, 42);
    with_type(type.type, [&]<typename T>(std::type_identity<T>) {
      std::vector<T> results = reduce_anyhow<T>(pattern, op.op, ranks, 1000, kCount, random);
      EXPECT_EQ(pattern.wrong(results.data(), Pattern::kReduced, 1000, kCount), 0) << ranks << " ranks";
    });
  }
}

TEST_P(EveryTypeAndOp, EveryRankCounts) {
  const auto& [type, op] = GetParam();
  std::mt19937 random(2);
  // Reductions in which one rank's input takes the place of another's are wrong somewhere.
  for (int ranks : {2, 3, 8}) {
    Pattern pattern(type, op.op, ranks, 43), fewer(type, op.op, ranks - 1, 43);
    with_type(type.type, [&]<typename T>(std::type_identity<T>) {
      std::vector<T> first(kCount), last(kCount);
      std::vector<T> results = reduce_anyhow<T>(pattern, op.op, ranks, 0, kCount, random);
      pattern.input(first.data(), 0, 0, kCount);
      pattern.input(last.data(), ranks - 1, 0, kCount);
      EXPECT_NE(std::memcmp(first.data(), last.data(), kCount * sizeof(T)), 0);
      if (op.op == Op::max || op.op == Op::min) return;
      std::vector<T> twice = results;
      for (size_t i = 0; i < kCount; ++i)
        twice[i] = combine(results[i], last[i], op.op == Op::prod ? Op::prod : Op::sum);
      EXPECT_GT(pattern.wrong(twice.data(), Pattern::kReduced, 0, kCount), kCount / 10) << ranks << " ranks";
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Pattern, EveryTypeAndOp,
                         ::testing::Combine(::testing::ValuesIn(all_types().begin(), all_types().end()),
                                            ::testing::ValuesIn(all_ops().begin(), all_ops().end())),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" +
                                  std::get<1>(info.param).name;
                         });

TEST(Pattern, FindsEachChangedBitOfMovedData) {
  for (const TypeInfo& type : all_types()) {
    Pattern pattern(type, 7);
    std::vector<unsigned char> data(kCount * type.size);
    pattern.input(data.data(), 3, 5, kCount);
    EXPECT_EQ(pattern.wrong(data.data(), 3, 5, kCount), 0) << type.name;
    for (size_t bit = 0; bit < 8 * type.size; ++bit) {
      data[17 * type.size + bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
      EXPECT_EQ(pattern.wrong(data.data(), 3, 5, kCount), 1) << type.name << " bit " << bit;
      data[17 * type.size + bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
    }
  }
}

TEST(Pattern, FindsEachChangedBitOfASum) {
  Pattern pattern(*find_type("float"), Op::sum, 1, 7);
  std::vector<uint32_t> data(4);
  pattern.input(data.data(), 0, 0, 4);
  for (int bit = 0; bit < 32; ++bit) {
    data[2] ^= 1u << bit;
    EXPECT_EQ(pattern.wrong(data.data(), Pattern::kReduced, 0, 4), 1) << bit;
    data[2] ^= 1u << bit;
  }
}

TEST(Pattern, DependsOnSeedRankAndPosition) {
  const TypeInfo type = *find_type("int64");
  std::vector<int64_t> base(kCount), other(kCount);
  Pattern(type, 1).input(base.data(), 0, 0, kCount);
  auto differs = [&](uint64_t seed, int rank, uint64_t first) {
    Pattern(type, seed).input(other.data(), rank, first, kCount);
    return std::inner_product(base.begin(), base.end(), other.begin(), size_t{0}, std::plus<>(),
                              std::not_equal_to<>());
  };
  EXPECT_EQ(differs(1, 0, 0), 0);
  EXPECT_GT(differs(2, 0, 0), kCount - 5);
  EXPECT_GT(differs(1, 1, 0), kCount - 5);
  EXPECT_GT(differs(1, 0, 1), kCount - 5);
  EXPECT_GT(differs(1, 0, uint64_t{1} << 32), kCount - 5) << "elements beyond 2^32 repeat the first ones";
}

TEST(Pattern, IsTheSameHoweverItIsCut) {
  const TypeInfo type = *find_type("half");
  for (uint64_t first : {uint64_t{0}, (uint64_t{1} << 32) - 1000}) {
    Pattern pattern(type, Op::sum, 5, 9);
    std::vector<uint16_t> whole(5000), parts(5000);
    pattern.input(whole.data(), 2, first, 5000);
    for (size_t at = 0, step = 1; at < 5000; at += step, step = std::min<size_t>(step * 3, 5000 - at))
      pattern.input(parts.data() + at, 2, first + at, step);
    EXPECT_EQ(whole, parts);
    EXPECT_EQ(pattern.wrong(whole.data() + 77, 2, first + 77, 4000), 0);
  }
}

TEST(Pattern, UnsignedSumsStayInRangeAndAveragesTruncate) {
  const TypeInfo type = *find_type("int8");
  Pattern pattern(type, Op::avg, 3, 11);
  std::vector<int8_t> averages(kCount);
  std::vector<int> sums(kCount);
  for (int rank = 0; rank < 3; ++rank) {
    std::vector<int8_t> input(kCount);
    pattern.input(input.data(), rank, 0, kCount);
    for (size_t i = 0; i < kCount; ++i) sums[i] += input[i];
  }
  EXPECT_LT(*std::min_element(sums.begin(), sums.end()), -3);
  for (size_t i = 0; i < kCount; ++i) averages[i] = static_cast<int8_t>(sums[i] / 3);
  EXPECT_EQ(pattern.wrong(averages.data(), Pattern::kReduced, 0, kCount), 0);
  for (size_t i = 0; i < kCount; ++i) averages[i] = static_cast<int8_t>(std::floor(sums[i] / 3.0));
  EXPECT_GT(pattern.wrong(averages.data(), Pattern::kReduced, 0, kCount), 0);
}

}  // namespace
}  // namespace weir::perf
