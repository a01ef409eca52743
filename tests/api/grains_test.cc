// SPDX-License-Identifier: Apache-2.0
/// Sums over grains: bits that no number of ranks changes, streams, errors, misuse.
#include "weir/grains.h"

#include <algorithm>
#include <random>

#include "tests/api/ranks.h"
#include "weir/stream.h"

namespace weir::api {
namespace {

using ::testing::HasSubstr;

constexpr size_t kElements = 1000;

/// Values whose sum depends on the order.
float value(uint64_t grain, size_t element) {
  std::minstd_rand random(static_cast<uint32_t>(grain * 7919 + element + 1));
  random.discard(3);
  return (static_cast<float>(random()) - 1e9F) * (grain % 3 == 0 ? 1.0F : 1e-4F);
}

std::vector<float> in_order_of_the_tree(uint64_t grains) {
  std::vector<float> sums;
  for (size_t element = 0; element < kElements; ++element) {
    std::vector<float> values;
    for (uint64_t grain = 0; grain < grains; ++grain) values.push_back(value(grain, element));
    sums.push_back(weirTreeSum(values.data(), values.size()));
  }
  return sums;
}

weirGrainRange_t share(uint64_t grains, int rank, int ranks) {
  return {grains * static_cast<uint64_t>(rank) / static_cast<uint64_t>(ranks),
          grains * (static_cast<uint64_t>(rank) + 1) / static_cast<uint64_t>(ranks)};
}

/// Unequal pieces, in another order than the ranks'.
std::vector<weirElementRange_t> pieces_of(int ranks) {
  std::vector<weirElementRange_t> pieces(static_cast<size_t>(ranks));
  size_t first = 0;
  for (int rank = ranks; rank-- > 0;) {
    const size_t count = rank == 0 ? kElements - first : kElements / static_cast<size_t>(ranks + 1 + rank);
    pieces[static_cast<size_t>(rank)] = {first, count};
    first += count;
  }
  return pieces;
}

void add(weirGrainSum_t sum, uint64_t grain) {
  float* array = nullptr;
  ASSERT_EQ(weirGrainSumOpen(sum, &array), 0) << last_sentence();
  for (size_t element = 0; element < kElements; ++element) array[element] += value(grain, element);
  ASSERT_EQ(weirGrainSumClose(sum, grain, grain + 1), 0) << last_sentence();
}

TEST(Grains, AllReduceHasTheBitsOfTheTreeWithAnyRanks) {
  for (const uint64_t grains : {1, 5, 8, 11}) {
    const std::vector<float> expected = in_order_of_the_tree(grains);
    for (const int ranks : {1, 2, 3, 5}) {
      with_ranks(ranks, [&](ncclComm_t comm, int rank) {
        const weirGrainRange_t own = share(grains, rank, ranks);
        std::vector<float> data, result(kElements);
        for (uint64_t grain = own.first; grain < own.end; ++grain)
          for (size_t element = 0; element < kElements; ++element) data.push_back(value(grain, element));
        ASSERT_EQ(weirGrainAllReduce(data.data(), result.data(), kElements, own, grains, comm), 0)
            << last_sentence();
        EXPECT_EQ(result, expected) << grains << " grains, " << ranks << " ranks";
      });
    }
  }
}

/// In two exchanges on a stream, the second one queued before the first is settled.
TEST(Grains, ExchangesOfMicroBatchesOnAStream) {
  constexpr uint64_t kGrains = 13;
  const std::vector<float> expected = in_order_of_the_tree(kGrains);
  for (const int ranks : {1, 2, 4}) {
    const auto pieces = pieces_of(ranks);
    with_ranks(ranks, [&](ncclComm_t comm, int rank) {
      weirStream_t stream = nullptr;
      ASSERT_EQ(weirStreamCreate(&stream), 0);
      weirGrainSum_t sum = nullptr;
      ASSERT_EQ(weirGrainSumCreate(&sum, comm, kElements, pieces.data()), 0) << last_sentence();
      for (int round = 0; round < 2; ++round) {
        ASSERT_EQ(weirGrainSumBegin(sum, kGrains), 0);
        size_t bytes = 0;
        for (const bool second : {false, true}) {
          std::vector<weirGrainRange_t> ranges;
          for (int peer = 0; peer < ranks; ++peer) {
            const weirGrainRange_t all = share(kGrains, peer, ranks);
            const uint64_t middle = (all.first + all.end) / 2;
            ranges.push_back(second ? weirGrainRange_t{middle, all.end}
                                    : weirGrainRange_t{all.first, middle});
          }
          const weirGrainRange_t own = ranges[static_cast<size_t>(rank)];
          for (uint64_t grain = own.first; grain < own.end; ++grain) add(sum, grain);
          size_t sent = 0;
          ASSERT_EQ(weirGrainSumExchange(sum, ranges.data(), stream, &sent), 0) << last_sentence();
          bytes += sent;
        }
        EXPECT_EQ(bytes > 0, ranks > 1);
        ASSERT_EQ(weirGrainSumSettle(sum), 0) << last_sentence();
        ASSERT_EQ(weirGrainSumSettle(sum), 0) << last_sentence();
        const weirElementRange_t piece = pieces[static_cast<size_t>(rank)];
        std::vector<float> result(piece.count);
        ASSERT_EQ(weirGrainSumFinish(sum, result.data()), 0) << last_sentence();
        EXPECT_TRUE(
            std::equal(result.begin(), result.end(), expected.begin() + static_cast<long>(piece.first)));
      }
      EXPECT_EQ(weirGrainSumDestroy(sum), 0);
      EXPECT_EQ(weirStreamDestroy(stream), 0);
    });
  }
}

TEST(Grains, AllReduceRefusesRangesThatDoNotMakeTheWhole) {
  Together together(2);
  with_ranks(2, [&together](ncclComm_t comm, int rank) {
    const std::vector<float> data(4);
    std::vector<float> result(2);
    const auto call = [&](weirGrainRange_t own, uint64_t grains) {
      return weirGrainAllReduce(data.data(), result.data(), 2, own, grains, comm);
    };
    EXPECT_EQ(call({0, 2}, 4), 4);  // both have the same ones
    EXPECT_THAT(together.sentence(), HasSubstr("grain 2 of 4 belongs to no rank, or to several"));
    EXPECT_EQ(call(rank == 0 ? weirGrainRange_t{0, 1} : weirGrainRange_t{2, 3}, 3), 4);
    EXPECT_THAT(together.sentence(), HasSubstr("grain 1 of 3 belongs to no rank"));
    EXPECT_EQ(call({static_cast<uint64_t>(rank), static_cast<uint64_t>(rank) + 1}, rank == 0 ? 2 : 3), 4);
    EXPECT_THAT(together.sentence(), HasSubstr("rank 1 has grains 1 to 2 of 3; expected"));
    // Nothing is lost: the next one is right.
    EXPECT_EQ(call({static_cast<uint64_t>(rank), static_cast<uint64_t>(rank) + 1}, 2), 0) << last_sentence();
  });
}

TEST(Grains, MisuseIsRefusedWithASentence) {
  const Alone comm;
  const weirElementRange_t all{0, kElements};
  weirGrainSum_t sum = nullptr;
  const weirElementRange_t beyond{1, kElements};
  EXPECT_EQ(weirGrainSumCreate(&sum, comm, kElements, &beyond), 4);
  EXPECT_THAT(last_sentence(),
              HasSubstr("the piece of rank 0 has 1000 elements from element 1 on; expected"));
  EXPECT_EQ(weirGrainSumCreate(nullptr, comm, kElements, &all), 4);
  EXPECT_EQ(weirGrainSumCreate(&sum, nullptr, kElements, &all), 4);
  EXPECT_EQ(weirGrainSumCreate(&sum, comm, kElements, nullptr), 4);
  EXPECT_EQ(weirGrainSumCreate(&sum, comm, SIZE_MAX, &all), 4);
  ASSERT_EQ(weirGrainSumCreate(&sum, comm, kElements, &all), 0) << last_sentence();

  float* array = nullptr;
  const weirGrainRange_t three{0, 3};
  EXPECT_EQ(weirGrainSumOpen(sum, &array), 5);
  EXPECT_THAT(last_sentence(), HasSubstr("expected weirGrainSumBegin before"));
  EXPECT_EQ(weirGrainSumBegin(sum, 0), 4);
  EXPECT_EQ(weirGrainSumBegin(sum, 3), 0);
  EXPECT_EQ(weirGrainSumClose(sum, 0, 1), 5);
  EXPECT_THAT(last_sentence(), HasSubstr("expected weirGrainSumOpen before"));
  EXPECT_EQ(weirGrainSumSettle(sum), 5);
  add(sum, 0);
  EXPECT_EQ(weirGrainSumOpen(sum, &array), 0);
  EXPECT_EQ(weirGrainSumClose(sum, 1, 3), 4);
  EXPECT_THAT(last_sentence(), HasSubstr("grains 1 to 3 are 2 sub-trees"));
  EXPECT_EQ(weirGrainSumClose(sum, 3, 4), 4);
  EXPECT_EQ(weirGrainSumExchange(sum, &three, nullptr, nullptr), 5);
  EXPECT_THAT(last_sentence(), HasSubstr("expected each of its grains once"));
  // From the beginning, and with one of three only.
  const weirGrainRange_t one{0, 1};
  EXPECT_EQ(weirGrainSumBegin(sum, 3), 0) << last_sentence();
  add(sum, 0);
  EXPECT_EQ(weirGrainSumExchange(sum, &one, nullptr, nullptr), 0) << last_sentence();
  std::vector<float> result(kElements);
  EXPECT_EQ(weirGrainSumFinish(sum, result.data()), 5);
  EXPECT_THAT(last_sentence(), HasSubstr("an exchange was not settled"));
  EXPECT_EQ(weirGrainSumSettle(sum), 0);
  EXPECT_EQ(weirGrainSumFinish(sum, nullptr), 4);
  EXPECT_EQ(weirGrainSumFinish(sum, result.data()), 5);
  EXPECT_THAT(last_sentence(), HasSubstr("some of the 3 grains are missing"));
  EXPECT_EQ(weirGrainSumDestroy(sum), 0);
  EXPECT_EQ(weirGrainSumDestroy(sum), 4);
  EXPECT_THAT(last_sentence(), HasSubstr("is not a sum, or was destroyed"));
}

TEST(Grains, AnAbortedCommunicatorEndsExchangesWithItsError) {
  on_threads(2, [&](int rank, const ncclUniqueId& id) {
    ncclComm_t comm = nullptr;
    ASSERT_EQ(ncclCommInitRank(&comm, 2, id, rank), ncclSuccess) << last_sentence();
    const auto pieces = pieces_of(2);
    weirGrainSum_t sum = nullptr;
    weirStream_t stream = nullptr;
    ASSERT_EQ(weirStreamCreate(&stream), 0);
    ASSERT_EQ(weirGrainSumCreate(&sum, comm, kElements, pieces.data()), 0) << last_sentence();
    ASSERT_EQ(weirGrainSumBegin(sum, 2), 0);
    if (rank == 0) {  // alone: the other one never comes
      const weirGrainRange_t ranges[] = {{0, 1}, {1, 2}};
      add(sum, 0);
      ASSERT_EQ(weirGrainSumExchange(sum, ranges, stream, nullptr), 0) << last_sentence();
    }
    EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
    if (rank == 0) {
      EXPECT_EQ(weirGrainSumSettle(sum), 4) << "its communicator is gone";
    }
    EXPECT_EQ(weirGrainSumDestroy(sum), 0);
    (void)weirStreamDestroy(stream);
  });
}

}  // namespace
}  // namespace weir::api
