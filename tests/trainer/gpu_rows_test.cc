// SPDX-License-Identifier: Apache-2.0
// The kernel of row operations as GPUs run it, here for the host: every operation against the CPU's, for any
// number of teams. Bits are the same where sums have the CPU's order, which is everywhere but in the
// gradients of biases and gains.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "tests/trainer/reference.h"
#include "trainer/math/bfloat16.h"
#include "trainer/math/gpu/kernel_calls.h"
#include "trainer/math/ops.h"

extern "C" void weir_train_rows(const void* launch, uint32_t block, uint32_t blocks);

namespace weir::trainer {
namespace {

using reference::random_values;
using reference::to_floats;

using Floats = std::vector<float>;

Floats random_floats(Index count, uint64_t seed) {
  return to_floats(random_values(static_cast<size_t>(count), seed));
}

void run_kernels(const RowCall& call, uint32_t blocks) {
  std::vector<std::byte> scratch(gpu::scratch_bytes(call), std::byte{0xff});
  gpu::each_kernel_call(call, scratch.data(), [&](const gpu::KernelCall& one, Index) {
    const gpu::RowLaunch launch = gpu::launch_of(one);
    // The last block first: none may need another.
    for (uint32_t block = blocks; block-- > 0;) weir_train_rows(&launch, block, blocks);
  });
}

// What make(results...) does to the arrays on the CPU and by kernels of 1, 3 and 64 teams.
class GpuRows : public testing::Test {
 protected:
  using Arrays = std::vector<Floats>;
  template <typename Make>
  void expect_same(const Arrays& arrays, Make make, float tolerance = 0) {
    Arrays expected = arrays;
    CpuOps cpu(Precision::fp32);
    cpu.run(make(expected));
    for (const uint32_t blocks : {1u, 3u, 64u}) {
      Arrays got = arrays;
      run_kernels(make(got), blocks);
      for (size_t array = 0; array < arrays.size(); ++array)
        for (size_t at = 0; at < arrays[array].size(); ++at) {
          const float want = expected[array][at];
          const bool same = std::bit_cast<uint32_t>(got[array][at]) == std::bit_cast<uint32_t>(want);
          if (tolerance == 0) {
            ASSERT_TRUE(same) << want << " became " << got[array][at] << ": array " << array << " at " << at
                              << ", " << blocks << " blocks";
            continue;
          }
          ASSERT_NEAR(got[array][at], want, tolerance * (1 + std::abs(want)))
              << "array " << array << " at " << at << ", " << blocks << " blocks";
        }
    }
    EXPECT_NE(expected, arrays) << "the operation did nothing";  // NaN differs, too
  }
};

// Widths with and without a rest of the lanes; more rows than a chunk has, and no multiple of it.
class GpuRowsOfWidth : public GpuRows, public testing::WithParamInterface<Index> {
 protected:
  static constexpr Index kRows = 2 * gpu::kChunkRows + 5;
  Index width() const { return GetParam(); }
  Floats matrix(uint64_t seed) const { return random_floats(kRows * width(), seed); }
  Floats vector(uint64_t seed) const { return random_floats(width(), seed); }
};
INSTANTIATE_TEST_SUITE_P(Widths, GpuRowsOfWidth, testing::Values(5, 16, 37, 64));

TEST_P(GpuRowsOfWidth, LayerNorm) {
  const Floats x = matrix(1), gain = vector(2), bias = vector(3), gradient = matrix(4);
  Floats statistics(2 * kRows);
  expect_same({Floats(x.size()), statistics}, [&](Arrays& a) -> RowCall {
    return LayerNormForward{kRows, width(), x.data(), gain.data(), bias.data(), a[0].data(), a[1].data()};
  });
  Floats out(x.size());
  CpuOps cpu(Precision::fp32);
  cpu.run(
      LayerNormForward{kRows, width(), x.data(), gain.data(), bias.data(), out.data(), statistics.data()});
  const auto backward = [&](Arrays& a) -> RowCall {
    return LayerNormBackward{kRows,       width(),     gradient.data(),
                             x.data(),    gain.data(), statistics.data(),
                             a[0].data(), a[1].data(), a[2].data()};
  };
  expect_same({matrix(5), vector(6), vector(7)}, backward, 1e-5f);
}

TEST_P(GpuRowsOfWidth, GradientsOfInputsHaveTheBitsOfTheCpu) {
  const Floats x = matrix(1), gain = vector(2), gradient = matrix(4);
  const Floats statistics = random_floats(2 * kRows, 8);
  Floats expected = matrix(5), got = expected, sums(static_cast<size_t>(width())), others = sums;
  const LayerNormBackward call{kRows,           width(),     gradient.data(),
                               x.data(),        gain.data(), statistics.data(),
                               expected.data(), sums.data(), others.data()};
  CpuOps(Precision::fp32).run(call);
  LayerNormBackward again = call;
  again.x_gradient_sum = got.data();
  run_kernels(again, 3);
  EXPECT_EQ(got, expected);
}

TEST_P(GpuRowsOfWidth, RmsNorm) {
  const Floats x = matrix(1), gain = vector(2), gradient = matrix(4);
  Floats statistics(2 * kRows), out(x.size());
  expect_same({out, statistics}, [&](Arrays& a) -> RowCall {
    return RmsNormForward{kRows, width(), 1e-5f, x.data(), gain.data(), a[0].data(), a[1].data()};
  });
  CpuOps(Precision::fp32)
      .run(RmsNormForward{kRows, width(), 1e-5f, x.data(), gain.data(), out.data(), statistics.data()});
  expect_same(
      {matrix(5), vector(6)},
      [&](Arrays& a) -> RowCall {
        return RmsNormBackward{kRows,       width(),           gradient.data(), x.data(),
                               gain.data(), statistics.data(), a[0].data(),     a[1].data()};
      },
      1e-5f);
}

TEST_P(GpuRowsOfWidth, SwiGlu) {
  const Floats gate = matrix(1), up = matrix(2);
  expect_same({Floats(gate.size())}, [&](Arrays& a) -> RowCall {
    return SwiGluForward{kRows * width(), gate.data(), up.data(), a[0].data()};
  });
  expect_same({matrix(3), Floats(gate.size())}, [&](Arrays& a) -> RowCall {
    return SwiGluBackward{kRows * width(), gate.data(), up.data(), a[0].data(), a[1].data()};
  });
}

TEST_P(GpuRowsOfWidth, RotaryEmbedding) {
  const HeadShape shape{2, 7, 3, 2 * width()};
  Floats frequencies(static_cast<size_t>(width()));
  expect_same({frequencies}, [&](Arrays& a) -> RowCall {
    return RotaryFrequencies{2 * width(), 10000.0f, {64, 8, 1, 4}, a[0].data()};
  });
  CpuOps(Precision::fp32).run(RotaryFrequencies{2 * width(), 10000.0f, {}, frequencies.data()});
  for (const bool back : {false, true})
    expect_same({random_floats(2 * 7 * 3 * 2 * width(), 1)}, [&](Arrays& a) -> RowCall {
      return Rotate{shape, frequencies.data(), back, a[0].data()};
    });
}

TEST_P(GpuRowsOfWidth, BiasAndGelu) {
  const Floats bias = vector(1), residual = matrix(2);
  expect_same({matrix(3)}, [&](Arrays& a) -> RowCall {
    return AddBiasAndResidual{kRows, width(), a[0].data(), bias.data(), residual.data()};
  });
  expect_same({matrix(3), Floats(residual.size())}, [&](Arrays& a) -> RowCall {
    return BiasGeluForward{kRows, width(), a[0].data(), bias.data(), a[1].data()};
  });
  expect_same({Floats(residual.size())}, [&](Arrays& a) -> RowCall {
    return GeluForward{kRows * width(), residual.data(), a[0].data()};
  });
  expect_same({matrix(4)}, [&](Arrays& a) -> RowCall {
    return GeluBackward{kRows * width(), residual.data(), a[0].data()};
  });
  expect_same(
      {vector(5)},
      [&](Arrays& a) -> RowCall {
        return BiasBackward{kRows, width(), residual.data(), a[0].data()};
      },
      1e-5f);
}

TEST_P(GpuRowsOfWidth, Softmax) {
  const Index rows = std::min<Index>(width(), 5);  // the last ones of a square
  const Index squares = 2 * rows * width();
  const Floats probabilities = random_floats(squares, 1);
  // One matrix of each sequence; all see the first position, or what is in their document.
  std::vector<Token> starts;
  for (Index position = 0; position < 2 * width(); ++position)
    starts.push_back(static_cast<Token>(position % width() / 3 * 3));
  for (const Token* from : {static_cast<const Token*>(nullptr), static_cast<const Token*>(starts.data())}) {
    const SeenFrom seen{1, width(), from};
    expect_same({random_floats(squares, 2)}, [&](Arrays& a) -> RowCall {
      return CausalSoftmaxForward{2, rows, width(), width() - rows, seen, 0.25f, a[0].data()};
    });
    expect_same({random_floats(squares, 3)}, [&](Arrays& a) -> RowCall {
      return CausalSoftmaxBackward{
          2, rows, width(), width() - rows, seen, 0.25f, probabilities.data(), a[0].data()};
    });
  }
}

TEST_P(GpuRowsOfWidth, CrossEntropy) {
  const Floats logits = matrix(1);
  std::vector<Token> targets;
  for (Index row = 0; row < kRows; ++row) targets.push_back(static_cast<uint8_t>(row % width()));
  expect_same(
      {Floats(kRows)},
      [&](Arrays& a) -> RowCall {
        return CrossEntropyForward{kRows, width(), logits.data(), targets.data(), a[0].data()};
      },
      1e-6f);
  expect_same({Floats(logits.size())}, [&](Arrays& a) -> RowCall {
    return CrossEntropyBackward{kRows, width(), 0.5f, logits.data(), targets.data(), a[0].data()};
  });
}

TEST_P(GpuRowsOfWidth, Embedding) {
  constexpr Index kLength = 23;
  const Floats tokens_of_table = random_floats(256 * width(), 1);
  const Floats positions = random_floats(kLength * width(), 2), gradient = matrix(3);
  std::vector<Token> tokens;
  for (Index row = 0; row < kRows; ++row) tokens.push_back(static_cast<uint8_t>(row * 91 % 17 * 16));
  expect_same({matrix(4)}, [&](Arrays& a) -> RowCall {
    return EmbeddingForward{
        kRows, kLength, width(), tokens.data(), tokens_of_table.data(), positions.data(), a[0].data()};
  });
  expect_same({matrix(4)}, [&](Arrays& a) -> RowCall {
    return EmbeddingForward{kRows,   kLength,    width(), tokens.data(), tokens_of_table.data(),
                            nullptr, a[0].data()};
  });
  expect_same({tokens_of_table}, [&](Arrays& a) -> RowCall {
    return EmbeddingBackward{kRows,         kLength,         width(),  //
                             tokens.data(), gradient.data(), a[0].data(), nullptr};
  });
  expect_same({tokens_of_table, positions}, [&](Arrays& a) -> RowCall {
    return EmbeddingBackward{kRows,         kLength,         width(),  //
                             tokens.data(), gradient.data(), a[0].data(), a[1].data()};
  });
}

// Rows are sorted in chunks and merged: less than a chunk, whole chunks, and runs without a second one;
// tokens that are all the same, all different, and some of each.
TEST_F(GpuRows, EmbeddingGradientsOfAnyNumberOfRows) {
  constexpr Index kWidth = 5, kVocabulary = 4096;
  for (const Index rows : {Index{1}, gpu::kSortedRows - 1, gpu::kSortedRows, gpu::kSortedRows + 1,
                           2 * gpu::kSortedRows, 5 * gpu::kSortedRows + 3, Index{1500}})
    for (const Index distinct : {Index{1}, Index{7}, Index{300}, kVocabulary}) {
      SCOPED_TRACE(testing::Message() << rows << " rows of " << distinct << " tokens");
      std::vector<Token> tokens;
      for (Index row = 0; row < rows; ++row)
        tokens.push_back(static_cast<Token>(row * 2654435761 % kVocabulary % distinct));
      const Floats gradient = random_floats(rows * kWidth, 3);
      expect_same({random_floats(kVocabulary * kWidth, 1), random_floats(rows * kWidth, 2)},
                  [&](Arrays& a) -> RowCall {
                    return EmbeddingBackward{rows,          (rows + 1) / 2,  kWidth,  //
                                             tokens.data(), gradient.data(), a[0].data(), a[1].data()};
                  });
    }
}

TEST_P(GpuRowsOfWidth, Heads) {
  const HeadShape shape{2, 7, 3, width()};
  const Index floats = shape.sequences * shape.length * shape.heads * shape.size;
  const Floats rows = random_floats(3 * floats, 1), bias = random_floats(3 * shape.heads * width(), 2);
  const Floats none(static_cast<size_t>(floats));
  expect_same({none, none, none}, [&](Arrays& a) -> RowCall {
    return SplitQueriesKeysValues{shape, rows.data(), bias.data(), a[0].data(), a[1].data(), a[2].data()};
  });
  expect_same({Floats(rows.size())}, [&](Arrays& a) -> RowCall {
    return JoinQueriesKeysValues{shape, rows.data(), rows.data() + floats, rows.data() + 2 * floats,
                                 a[0].data()};
  });
  expect_same({none}, [&](Arrays& a) -> RowCall { return SplitHeads{shape, rows.data(), a[0].data()}; });
  expect_same({none}, [&](Arrays& a) -> RowCall { return JoinHeads{shape, rows.data(), a[0].data()}; });
}

TEST_F(GpuRows, Elements) {
  constexpr Index kCount = 3 * 1024 + 37;
  const Floats x = random_floats(kCount, 1);
  expect_same({random_floats(kCount, 2)}, [&](Arrays& a) -> RowCall {
    return Add{kCount, x.data(), a[0].data()};
  });
  expect_same({x}, [&](Arrays& a) -> RowCall { return Scale{kCount, 0.3f, a[0].data()}; });
  expect_same({Floats(4)}, [&](Arrays& a) -> RowCall { return SquareBlocks{kCount, x.data(), a[0].data()}; });
  const AdamW settings{0.1f, 0.9f, 0.95f, 1e-8f, 0.5f, 0.7f, 3};
  Floats variance = random_floats(kCount, 3);
  for (float& value : variance) value *= value;
  expect_same({random_floats(kCount, 4), random_floats(kCount, 5), variance}, [&](Arrays& a) -> RowCall {
    return AdamWStep{settings, kCount, a[0].data(), x.data(), a[1].data(), a[2].data()};
  });
}

TEST_F(GpuRows, Bfloat16) {
  constexpr Index kCount = 53;
  const Floats x = random_floats(kCount, 1);
  // Halves of them, in floats.
  expect_same({Floats(kCount / 2 + 1)}, [&](Arrays& a) -> RowCall {
    return ToBfloat16{kCount, x.data(), reinterpret_cast<uint16_t*>(a[0].data())};
  });
  expect_same({Floats(2 * (kCount - 1))}, [&](Arrays& a) -> RowCall {
    return FromBfloat16{2 * (kCount - 1), reinterpret_cast<const uint16_t*>(x.data()), a[0].data()};
  });
  const std::vector<uint16_t> halves(kCount, to_bfloat16(0.3f));
  expect_same({x}, [&](Arrays& a) -> RowCall { return AddBfloat16{kCount, halves.data(), a[0].data()}; });
}

}  // namespace
}  // namespace weir::trainer
