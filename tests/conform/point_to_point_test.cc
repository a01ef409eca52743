// SPDX-License-Identifier: Apache-2.0
// Sends and receives in groups, as frameworks make them: several to one peer, to the rank itself, of nothing,
// beside collectives, on several streams, from one thread that has all ranks.
#include <memory>

#include "tests/conform/collectives.h"
#include "tests/conform/team.h"

namespace weir::conform {
namespace {

/// What a rank sends to another one as its `number`-th message.
std::vector<int32_t> elements(int from, int to, size_t number, size_t count) {
  std::vector<int32_t> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<int32_t>(i + 1000 * number) + 1'000'000 * from + 10'000'000 * to;
  return values;
}

struct Transfer {
  Transfer(int from, int to, size_t number, size_t count, cudaStream_t stream)
      : out(4 * count), in(4 * count), expected(elements(to, from, number, count)) {
    out.write(elements(from, to, number, count), stream);
    in.write(std::vector<int32_t>(count, -1), stream);
  }
  Buffer out, in;
  std::vector<int32_t> expected;
};

TEST(PointToPoint, SeveralToEveryRankInOneGroup) {
  with_comms({3}, [](ncclComm_t comm, int rank) {
    const Stream stream;
    constexpr size_t kCounts[] = {5, 0, 70'001, 1, 300};
    std::vector<std::unique_ptr<Transfer>> transfers;
    for (int peer = 0; peer < 3; ++peer)
      for (size_t number = 0; number < std::size(kCounts); ++number)
        transfers.push_back(std::make_unique<Transfer>(rank, peer, number, kCounts[number], stream));
    for (int round = 0; round < 2; ++round) {
      ncclGroupStart();
      for (size_t i = 0; i < transfers.size(); ++i) {
        const auto peer = static_cast<int>(i / std::size(kCounts));
        const size_t count = kCounts[i % std::size(kCounts)];
        EXPECT_EQ(failure(ncclSend(transfers[i]->out.data(), count, ncclInt32, peer, comm, stream)), "");
        EXPECT_EQ(failure(ncclRecv(transfers[i]->in.data(), 4 * count, ncclInt8, peer, comm, stream)), "");
      }
      ASSERT_EQ(failure(ncclGroupEnd()), "");
    }
    for (const auto& one : transfers)
      EXPECT_EQ(one->in.read<int32_t>(one->expected.size(), stream), one->expected);
  });
}

/// Rank 1 answers in calls of its own what rank 0 has in one group.
TEST(PointToPoint, GroupsOfTwoRanksNeedNotBeAlike) {
  with_comms({2}, [](ncclComm_t comm, int rank) {
    const Stream stream;
    constexpr size_t kCount = 50'000;
    const Transfer first(rank, 1 - rank, 1, kCount, stream), second(rank, 1 - rank, 2, kCount, stream);
    if (rank == 0) ncclGroupStart();
    for (const Transfer* one : {&first, &second})
      for (const bool sends : {rank == 0, rank == 1})
        EXPECT_EQ(failure(sends ? ncclSend(one->out.data(), kCount, ncclInt32, 1 - rank, comm, stream)
                                : ncclRecv(one->in.data(), kCount, ncclInt32, 1 - rank, comm, stream)),
                  "");
    if (rank == 0) {
      ASSERT_EQ(failure(ncclGroupEnd()), "");
    }
    EXPECT_EQ(first.in.read<int32_t>(kCount, stream), first.expected);
    EXPECT_EQ(second.in.read<int32_t>(kCount, stream), second.expected);
  });
}

TEST(PointToPoint, BesideACollectiveOnAnotherStream) {
  with_comms({2}, [](ncclComm_t comm, int rank) {
    const Stream stream, other;
    constexpr size_t kCount = 20'000;
    const Transfer one(rank, 1 - rank, 3, kCount, stream);
    const Buffer sum(4 * kCount);
    sum.write(std::vector<int32_t>(kCount, rank + 1), other);
    for (int round = 0; round < 2; ++round) {
      ncclGroupStart();
      EXPECT_EQ(failure(ncclSend(one.out.data(), kCount, ncclInt32, 1 - rank, comm, stream)), "");
      EXPECT_EQ(failure(ncclAllReduce(sum.data(), sum.data(), kCount, ncclInt32, ncclSum, comm, other)), "");
      EXPECT_EQ(failure(ncclRecv(one.in.data(), kCount, ncclInt32, 1 - rank, comm, stream)), "");
      ASSERT_EQ(failure(ncclGroupEnd()), "");
    }
    EXPECT_EQ(one.in.read<int32_t>(kCount, stream), one.expected);
    EXPECT_EQ(sum.read<int32_t>(kCount, other), std::vector<int32_t>(kCount, 6));
  });
}

TEST(PointToPoint, HostMemoryOnTheStreamOfAGpu) {
  with_comms({2}, [](ncclComm_t comm, int rank) {
    const Stream stream;
    constexpr size_t kCount = 3000;
    const std::vector<int32_t> out = elements(rank, 1 - rank, 0, kCount);
    std::vector<int32_t> in(kCount, -1);
    ncclGroupStart();
    EXPECT_EQ(failure(ncclSend(out.data(), kCount, ncclInt32, 1 - rank, comm, stream)), "");
    EXPECT_EQ(failure(ncclRecv(in.data(), kCount, ncclInt32, 1 - rank, comm, stream)), "");
    ASSERT_EQ(failure(ncclGroupEnd()), "");
    stream.wait();
    EXPECT_EQ(in, elements(1 - rank, rank, 0, kCount));
  });
}

TEST(PointToPoint, OneThreadHasAllRanksAndOneStream) {
  constexpr size_t kCount = 9000;
  const int gpu = 0;
  std::vector<ncclComm_t> comms(3);
  choose_gpu(gpu);
  ASSERT_EQ(failure(ncclCommInitAll(comms.data(), 3, std::vector<int>(3, gpu).data())), "");
  {
    const Stream stream;
    std::vector<std::unique_ptr<Transfer>> transfers;
    for (int rank = 0; rank < 3; ++rank)
      for (int peer = 0; peer < 3; ++peer)
        transfers.push_back(std::make_unique<Transfer>(rank, peer, 4, kCount, stream));
    ncclGroupStart();
    for (size_t i = 0; i < transfers.size(); ++i) {
      const auto peer = static_cast<int>(i % 3);
      EXPECT_EQ(failure(ncclSend(transfers[i]->out.data(), kCount, ncclInt32, peer, comms[i / 3], stream)),
                "");
      EXPECT_EQ(failure(ncclRecv(transfers[i]->in.data(), kCount, ncclInt32, peer, comms[i / 3], stream)),
                "");
    }
    ASSERT_EQ(failure(ncclGroupEnd()), "");
    for (const auto& one : transfers) EXPECT_EQ(one->in.read<int32_t>(kCount, stream), one->expected);
  }
  for (const ncclComm_t comm : comms) EXPECT_EQ(failure(ncclCommDestroy(comm)), "");
}

}  // namespace
}  // namespace weir::conform
