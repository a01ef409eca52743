// SPDX-License-Identifier: Apache-2.0
// Collectives on memory of a GPU, in the order of its streams.
#include <chrono>
#include <thread>

#include "tests/api/gpu.h"
#include "tests/base/sanitized.h"

namespace weir::api {
namespace {

// One that fits a slot, one of several pieces and a rest, whether they are cut by count or by block.
constexpr size_t kCounts[] = {1000, weir::testing::kSanitized ? 1'100'001 : 2'500'001};

class GpuCollectives : public UsesGpu {};

/// What rank r puts at i.
int input(int rank, size_t i) { return rank * 7 + static_cast<int>(i % 13); }
int sum(size_t i) {
  int all = 0;
  for (int rank = 0; rank < kRanks; ++rank) all += input(rank, i);
  return all;
}

TEST_F(GpuCollectives, WholeOnes) {
  with_ranks(kRanks, [](ncclComm_t comm, int rank) {
    const GpuStream own;
    for (const size_t count : kCounts) {
      for (const bool in_place : {false, true}) {
        const OnGpu<int> in(count), apart(count);
        const OnGpu<int>& out = in_place ? in : apart;
        const auto fill = [&] { in.fill(own, [rank](size_t i) { return input(rank, i); }); };
        fill();
        EXPECT_EQ(ncclAllReduce(in.data(), out.data(), count, ncclInt, ncclSum, comm, own), ncclSuccess)
            << last_sentence();
        EXPECT_EQ(wrong(out.read(own), sum), "");
        fill();
        EXPECT_EQ(
            ncclReduce(in.data(), rank == 1 ? out.data() : nullptr, count, ncclInt, ncclSum, 1, comm, own),
            ncclSuccess)
            << last_sentence();
        if (rank == 1) {
          EXPECT_EQ(wrong(out.read(own), sum), "");
        }
        fill();
        EXPECT_EQ(ncclBroadcast(rank == 2 ? in.data() : nullptr, out.data(), count, ncclInt, 2, comm, own),
                  ncclSuccess)
            << last_sentence();
        EXPECT_EQ(wrong(out.read(own), [](size_t i) { return input(2, i); }), "");
      }
    }
  });
}

TEST_F(GpuCollectives, BlockwiseOnes) {
  with_ranks(kRanks, [](ncclComm_t comm, int rank) {
    const GpuStream own;
    for (const size_t count : kCounts) {
      const OnGpu<int> blocks(kRanks * count), one(count), result(kRanks * count);
      // Block b of rank r, element i: b * 1000 + input(r, i).
      const auto fill = [&] {
        blocks.fill(own,
                    [=](size_t i) { return static_cast<int>(i / count) * 1000 + input(rank, i % count); });
        one.fill(own, [=](size_t i) { return input(rank, i); });
      };
      const auto gathered = [=](size_t i) { return input(static_cast<int>(i / count), i % count); };
      const auto own_block = [=](int of, size_t i) { return rank * 1000 + input(of, i); };
      fill();
      EXPECT_EQ(ncclAllGather(one.data(), result.data(), count, ncclInt, comm, own), ncclSuccess);
      EXPECT_EQ(wrong(result.read(own), gathered), "") << "all-gather";
      EXPECT_EQ(ncclReduceScatter(blocks.data(), one.data(), count, ncclInt, ncclMax, comm, own),
                ncclSuccess);
      EXPECT_EQ(wrong(one.read(own), [&](size_t i) { return own_block(kRanks - 1, i); }), "");
      EXPECT_EQ(ncclAlltoAll(blocks.data(), result.data(), count, ncclInt, comm, own), ncclSuccess);
      EXPECT_EQ(wrong(result.read(own),
                      [&](size_t i) { return own_block(static_cast<int>(i / count), i % count); }),
                "")
          << "all-to-all";
      fill();
      EXPECT_EQ(ncclGather(one.data(), rank == 1 ? result.data() : nullptr, count, ncclInt, 1, comm, own),
                ncclSuccess);
      if (rank == 1) {
        EXPECT_EQ(wrong(result.read(own), gathered), "") << "gather";
      }
      EXPECT_EQ(ncclScatter(rank == 1 ? blocks.data() : nullptr, one.data(), count, ncclInt, 1, comm, own),
                ncclSuccess);
      EXPECT_EQ(wrong(one.read(own), [&](size_t i) { return own_block(1, i); }), "") << "scatter";
    }
  });
}

TEST_F(GpuCollectives, BlockwiseOnesInPlace) {
  with_ranks(kRanks, [](ncclComm_t comm, int rank) {
    const GpuStream own;
    for (const size_t count : kCounts) {
      const OnGpu<int> all(kRanks * count);
      int* const mine = all.data() + static_cast<size_t>(rank) * count;
      const auto fill = [&] {
        all.fill(own, [=](size_t i) { return static_cast<int>(i / count) * 1000 + input(rank, i % count); });
      };
      const auto gathered = [=](size_t i) {
        return static_cast<int>(i / count) * 1000 + input(static_cast<int>(i / count), i % count);
      };
      fill();
      EXPECT_EQ(ncclAllGather(mine, all.data(), count, ncclInt, comm, own), ncclSuccess);
      EXPECT_EQ(wrong(all.read(own), gathered), "") << "all-gather";
      fill();
      EXPECT_EQ(ncclGather(mine, all.data(), count, ncclInt, 0, comm, own), ncclSuccess);
      if (rank == 0) {
        EXPECT_EQ(wrong(all.read(own), gathered), "") << "gather";
      }
      fill();
      EXPECT_EQ(ncclReduceScatter(all.data(), mine, count, ncclInt, ncclSum, comm, own), ncclSuccess);
      std::vector<int> got = all.read(own);
      got.erase(got.begin() + (rank + 1) * static_cast<long>(count), got.end());
      got.erase(got.begin(), got.begin() + rank * static_cast<long>(count));
      EXPECT_EQ(wrong(got, [=](size_t i) { return kRanks * rank * 1000 + sum(i); }), "") << "reduce-scatter";
    }
  });
}

TEST_F(GpuCollectives, ZeroCounts) {
  with_ranks(kRanks, [](ncclComm_t comm, int) {
    const GpuStream own;
    const OnGpu<int> data(5, 1);
    EXPECT_EQ(ncclAllReduce(nullptr, nullptr, 0, ncclInt, ncclSum, comm, own), ncclSuccess);
    EXPECT_EQ(ncclBroadcast(data.data(), data.data(), 0, ncclInt, 1, comm, own), ncclSuccess);
    EXPECT_EQ(ncclAllReduce(data.data(), data.data(), 5, ncclInt, ncclSum, comm, own), ncclSuccess);
    EXPECT_EQ(wrong(data.read(own), [](size_t) { return kRanks; }), "");
  });
}

TEST_F(GpuCollectives, WorkOfTheStreamComesBeforeAndAfter) {
  with_ranks(2, [](ncclComm_t comm, int rank) {
    const GpuStream own;
    const OnGpu<float> data(100), copy(100);
    gpu().run(static_cast<cudaStream_t>(own),
              [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
    data.fill(own, [=](size_t) { return 1 + rank; });
    EXPECT_EQ(ncclAllReduce(data.data(), data.data(), data.size(), ncclFloat, ncclProd, comm, own),
              ncclSuccess);
    gpu().run(static_cast<cudaStream_t>(own),
              [to = gpu().inside(copy.data()), from = gpu().inside(data.data())] {
                for (int i = 0; i < 100; ++i) to[i] = from[i] + 1;
              });
    EXPECT_EQ(wrong(copy.read(own), [](size_t) { return 3; }), "");
  });
}

TEST_F(GpuCollectives, EveryKindOfMemory) {
  with_ranks(2, [](ncclComm_t comm, int rank) {
    const GpuStream own;
    const OnGpu<int> device(10, 1), pinned(10, 2, device::GpuMemory::pinned),
        managed(10, 3, device::GpuMemory::managed);
    std::vector<int> host(10, 4);
    // Rank 1 has the same values in other places.
    const int* const inputs[2][4] = {{device.data(), pinned.data(), managed.data(), host.data()},
                                     {device.data(), pinned.data(), managed.data(), host.data()}};
    for (int k = 0; k < 4; ++k) {
      int* const outputs[4] = {pinned.data(), device.data(), device.data(), device.data()};
      EXPECT_EQ(ncclAllReduce(inputs[rank][k], outputs[k], 10, ncclInt, ncclSum, comm, own), ncclSuccess);
      own.wait();
      const int* const got = gpu().inside(outputs[k]);
      const int expected[4] = {2, 4, 6, 8};
      EXPECT_EQ(got[9], expected[k]);
      pinned.fill(own, [](size_t) { return 2; });
      device.fill(own, [](size_t) { return 1; });
      own.wait();
    }
  });
}

TEST_F(GpuCollectives, SendsAndReceivesOfAnySizeSideBySide) {
  with_ranks(kRanks, [](ncclComm_t comm, int rank) {
    const GpuStream own;
    // Around the ring, the other way round, and to itself, in one group; sizes differ by direction.
    const size_t large = 1'000'003, small = 10;
    const int next = (rank + 1) % kRanks, last = (rank + 2) % kRanks;
    const OnGpu<int> out(large), from_last(large), from_next(small), from_self(small), second(small);
    out.fill(own, [=](size_t i) { return input(rank, i); });
    for (int round = 0; round < 2; ++round) {
      ncclGroupStart();
      EXPECT_EQ(ncclRecv(from_next.data(), small, ncclInt, next, comm, own), ncclSuccess);
      EXPECT_EQ(ncclRecv(from_last.data(), large, ncclInt, last, comm, own), ncclSuccess);
      EXPECT_EQ(ncclRecv(second.data(), small, ncclInt, last, comm, own), ncclSuccess);
      EXPECT_EQ(ncclRecv(from_self.data(), small, ncclInt, rank, comm, own), ncclSuccess);
      EXPECT_EQ(ncclSend(out.data(), large, ncclInt, next, comm, own), ncclSuccess);
      EXPECT_EQ(ncclSend(out.data() + 1, small, ncclInt, next, comm, own), ncclSuccess);
      EXPECT_EQ(ncclSend(out.data() + 2, small, ncclInt, last, comm, own), ncclSuccess);
      EXPECT_EQ(ncclSend(out.data() + 3, small, ncclInt, rank, comm, own), ncclSuccess);
      EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << last_sentence();
      EXPECT_EQ(wrong(from_last.read(own), [=](size_t i) { return input(last, i); }), "");
      EXPECT_EQ(wrong(second.read(own), [=](size_t i) { return input(last, i + 1); }), "");
      EXPECT_EQ(wrong(from_next.read(own), [=](size_t i) { return input(next, i + 2); }), "");
      EXPECT_EQ(wrong(from_self.read(own), [=](size_t i) { return input(rank, i + 3); }), "");
    }
  });
}

TEST_F(GpuCollectives, AScalarOnTheGpuIsReadInTheOrderOfTheStream) {
  with_ranks(2, [](ncclComm_t comm, int) {
    const GpuStream own;
    const OnGpu<float> data(8, 1.0f), factor(1, 100.0f);
    ncclRedOp_t op{};
    ASSERT_EQ(ncclRedOpCreatePreMulSum(&op, factor.data(), ncclFloat, ncclScalarDevice, comm), ncclSuccess);
    factor.fill(own, [](size_t) { return 0.25f; });
    EXPECT_EQ(ncclAllReduce(data.data(), data.data(), 8, ncclFloat, op, comm, own), ncclSuccess)
        << last_sentence();
    factor.fill(own, [](size_t) { return 7.0f; });
    EXPECT_EQ(ncclRedOpDestroy(op, comm), ncclSuccess);
    EXPECT_EQ(wrong(data.read(own), [](size_t) { return 0.5f; }), "");
  });
}

}  // namespace
}  // namespace weir::api
