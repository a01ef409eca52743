// SPDX-License-Identifier: Apache-2.0

#include "src/core/staged/segmentation.h"

#include <gtest/gtest.h>

namespace weir::core {
namespace {

CollectiveOp operation_of(Collective kind, size_t count, DataType type = DataType::float32, Rank root = 0) {
  return {.kind = kind, .root = root, .type = type, .count = count};
}

TEST(Segmentation, OneOfPieceBytesIsNotDividedAndOneMoreElementIs) {
  const size_t most = kPieceBytes / 4;
  for (const Collective kind : {Collective::all_reduce, Collective::reduce, Collective::broadcast}) {
    EXPECT_EQ(segmentation_of(operation_of(kind, most), 1, 8).pieces, 1u);
    const Segmentation segmentation = segmentation_of(operation_of(kind, most + 1), 1, 8);
    EXPECT_EQ(segmentation.pieces, 2u);
    EXPECT_EQ(segmentation.piece_elements, most);
  }
  for (const Collective kind : {Collective::all_gather, Collective::reduce_scatter, Collective::all_to_all,
                                Collective::gather, Collective::scatter}) {
    EXPECT_EQ(segmentation_of(operation_of(kind, most / 8), 1, 8).pieces, 1u);
    EXPECT_EQ(segmentation_of(operation_of(kind, most / 8 + 1), 1, 8).pieces, 2u);
  }
}

TEST(Segmentation, IsTheSameOnAllRanks) {
  for (int kind = 0; kind < static_cast<int>(Collective::send_recv); ++kind) {
    const CollectiveOp operation = operation_of(static_cast<Collective>(kind), 12'345'678, DataType::int8, 2);
    const Segmentation first = segmentation_of(operation, 0, 5);
    EXPECT_GT(first.pieces, 2u);
    EXPECT_LE(first.piece_elements * (first.pieces - 1), operation.count);
    EXPECT_GE(first.piece_elements * first.pieces, operation.count);
    for (Rank rank = 1; rank < 5; ++rank) {
      const Segmentation segmentation = segmentation_of(operation, rank, 5);
      EXPECT_EQ(segmentation.piece_elements, first.piece_elements);
      EXPECT_EQ(segmentation.pieces, first.pieces);
      EXPECT_LE(segmentation.piece_elements * std::max(segmentation.input_blocks, segmentation.output_blocks),
                kPieceBytes);
    }
  }
}

TEST(Segmentation, BlocksOfRoots) {
  const auto blocks = [](Collective kind, Rank rank) {
    const Segmentation segmentation = segmentation_of(operation_of(kind, 10, DataType::int8, 1), rank, 4);
    return std::pair(segmentation.input_blocks, segmentation.output_blocks);
  };
  using Pair = std::pair<size_t, size_t>;
  EXPECT_EQ(blocks(Collective::broadcast, 1), Pair(1, 1));
  EXPECT_EQ(blocks(Collective::broadcast, 0), Pair(0, 1));
  EXPECT_EQ(blocks(Collective::reduce, 1), Pair(1, 1));
  EXPECT_EQ(blocks(Collective::reduce, 0), Pair(1, 0));
  EXPECT_EQ(blocks(Collective::gather, 1), Pair(1, 4));
  EXPECT_EQ(blocks(Collective::gather, 0), Pair(1, 0));
  EXPECT_EQ(blocks(Collective::scatter, 1), Pair(4, 1));
  EXPECT_EQ(blocks(Collective::scatter, 0), Pair(0, 1));
  EXPECT_EQ(blocks(Collective::all_gather, 0), Pair(1, 4));
  EXPECT_EQ(blocks(Collective::reduce_scatter, 0), Pair(4, 1));
  EXPECT_EQ(blocks(Collective::all_to_all, 0), Pair(4, 4));
}

TEST(Segmentation, NothingIsOnePieceOfNothing) {
  const Segmentation segmentation = segmentation_of(operation_of(Collective::all_reduce, 0), 0, 2);
  EXPECT_EQ(segmentation.pieces, 1u);
  EXPECT_EQ(segmentation.piece_elements, 0u);
}

TEST(Segmentation, ElementsOfVeryManyRanksGoOneByOne) {
  const Segmentation segmentation =
      segmentation_of(operation_of(Collective::all_gather, 3, DataType::float64), 0, 1 << 20);
  EXPECT_EQ(segmentation.piece_elements, 1u);
  EXPECT_EQ(segmentation.pieces, 3u);
}

}  // namespace
}  // namespace weir::core
