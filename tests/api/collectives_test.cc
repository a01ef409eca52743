// SPDX-License-Identifier: Apache-2.0
// Every collective through the C interface: small checks that arguments arrive where they should. Values of
// all types and algorithms are tested where they are made.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <numeric>

#include "tests/api/ranks.h"

// Declared as in rccl/rccl.h, which cannot be included beside nccl.h.
extern "C" {
ncclResult_t ncclAllToAll(const void*, void*, size_t, ncclDataType_t, ncclComm_t, cudaStream_t);
ncclResult_t ncclAlltoAllv(const void*, const size_t*, const size_t*, void*, const size_t*, const size_t*,
                           ncclDataType_t, ncclComm_t, cudaStream_t);
}

namespace weir::api {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Collectives, RootedOnesReachTheRoot) {
  with_ranks(kRanks, [](ncclComm_t comm, int rank) {
    const int own[2] = {rank, 10 * rank};
    std::vector<int> out(6, -1);
    for (int root = 0; root < kRanks; ++root) {
      int* const at_root = rank == root ? out.data() : nullptr;  // unused elsewhere
      EXPECT_EQ(ncclReduce(own, at_root, 2, ncclInt, ncclMax, root, comm, nullptr), ncclSuccess)
          << last_sentence();
      if (rank == root) {
        EXPECT_EQ(out[1], 20);
      }
      EXPECT_EQ(ncclGather(own, at_root, 2, ncclInt, root, comm, nullptr), ncclSuccess) << last_sentence();
      if (rank == root) {
        EXPECT_THAT(out, ElementsAre(0, 0, 1, 10, 2, 20));
      }
      int block[2] = {-1, -1};
      EXPECT_EQ(ncclScatter(at_root, block, 2, ncclInt, root, comm, nullptr), ncclSuccess) << last_sentence();
      EXPECT_THAT(block, ElementsAre(rank, 10 * rank));
      int all[2] = {100 + rank, 200};
      EXPECT_EQ(ncclBcast(all, 2, ncclInt, root, comm, nullptr), ncclSuccess) << last_sentence();
      EXPECT_THAT(all, ElementsAre(100 + root, 200));
    }
  });
}

TEST(Collectives, BlockwiseOnesKeepTheirOrder) {
  with_ranks(kRanks, [](ncclComm_t comm, int rank) {
    std::array<int64_t, kRanks> in{}, out{};
    for (int peer = 0; peer < kRanks; ++peer) in[peer] = 10 * rank + peer;
    EXPECT_EQ(ncclAlltoAll(in.data(), out.data(), 1, ncclInt64, comm, nullptr), ncclSuccess)
        << last_sentence();
    EXPECT_THAT(out, ElementsAre(rank, 10 + rank, 20 + rank));
    out = {};
    EXPECT_EQ(ncclAllToAll(in.data(), out.data(), 1, ncclInt64, comm, nullptr), ncclSuccess)
        << last_sentence();
    EXPECT_THAT(out, ElementsAre(rank, 10 + rank, 20 + rank));
    EXPECT_EQ(ncclAllGather(&in[1], out.data(), 1, ncclInt64, comm, nullptr), ncclSuccess) << last_sentence();
    EXPECT_THAT(out, ElementsAre(1, 11, 21));
    int64_t sum = 0;
    EXPECT_EQ(ncclReduceScatter(in.data(), &sum, 1, ncclInt64, ncclSum, comm, nullptr), ncclSuccess)
        << last_sentence();
    EXPECT_EQ(sum, 30 + 3 * rank);
  });
}

TEST(Collectives, BlocksOfDifferentSizes) {
  with_ranks(kRanks, [](ncclComm_t comm, int rank) {
    // Rank r sends r + p elements to rank p.
    std::array<size_t, kRanks> send_counts{}, send_at{}, receive_counts{}, receive_at{};
    size_t sent = 0, received = 0;
    for (size_t peer = 0; peer < kRanks; ++peer) {
      send_counts[peer] = receive_counts[peer] = static_cast<size_t>(rank) + peer;
      send_at[peer] = sent;
      receive_at[peer] = received;
      sent += send_counts[peer];
      received += receive_counts[peer] + 1;  // a gap, which must stay untouched
    }
    std::vector<int> in(sent, rank), out(received, -1), expected(received, -1);
    for (size_t peer = 0; peer < kRanks; ++peer) {
      std::fill_n(expected.begin() + static_cast<ptrdiff_t>(receive_at[peer]), receive_counts[peer],
                  static_cast<int>(peer));
    }
    EXPECT_EQ(ncclAlltoAllv(in.data(), send_counts.data(), send_at.data(), out.data(), receive_counts.data(),
                            receive_at.data(), ncclInt, comm, nullptr),
              ncclSuccess)
        << last_sentence();
    EXPECT_EQ(out, expected);
  });
}

TEST(Collectives, AveragesAndScaledSums) {
  with_ranks(kRanks, [](ncclComm_t comm, int rank) {
    double value = 3.0 * rank;
    double out = 0;
    EXPECT_EQ(ncclAllReduce(&value, &out, 1, ncclDouble, ncclAvg, comm, nullptr), ncclSuccess)
        << last_sentence();
    EXPECT_NEAR(out, 3.0, 1e-12);
    double factor = rank + 1;
    ncclRedOp_t op = ncclSum;
    ASSERT_EQ(ncclRedOpCreatePreMulSum(&op, &factor, ncclDouble, ncclScalarHostImmediate, comm), ncclSuccess);
    factor = 1000;  // was read already
    value = 1;
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(ncclAllReduce(&value, &out, 1, ncclDouble, op, comm, nullptr), ncclSuccess);
    EXPECT_EQ(ncclRedOpDestroy(op, comm), ncclSuccess) << "allowed before the end of the group";
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << last_sentence();
    EXPECT_EQ(out, 6);
    EXPECT_EQ(ncclAllReduce(&value, &out, 1, ncclDouble, op, comm, nullptr), ncclInvalidArgument)
        << "destroyed";
  });
}

/// Ranks that have made other operators before have other numbers for the same one.
TEST(Collectives, OperatorsMayHaveOtherNumbersOnEachRank) {
  with_ranks(kRanks, [](ncclComm_t comm, int rank) {
    float twice = 2, thrice = 3;
    ncclRedOp_t op = ncclSum, earlier = ncclSum;
    for (int i = 0; i < rank; ++i)
      ASSERT_EQ(ncclRedOpCreatePreMulSum(&earlier, &thrice, ncclFloat, ncclScalarHostImmediate, comm),
                ncclSuccess);
    ASSERT_EQ(ncclRedOpCreatePreMulSum(&op, &twice, ncclFloat, ncclScalarHostImmediate, comm), ncclSuccess);
    float value = 1;
    EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclFloat, op, comm, nullptr), ncclSuccess) << last_sentence();
    EXPECT_EQ(value, 2 * kRanks);
  });
}

TEST(Collectives, ScalarsThatAreReadLater) {
  Alone comm;
  float factor = 2, value = 3, out = 0;
  ncclRedOp_t op = ncclSum;
  ASSERT_EQ(ncclRedOpCreatePreMulSum(&op, &factor, ncclFloat, ncclScalarDevice, comm), ncclSuccess);
  factor = 5;
  EXPECT_EQ(ncclAllReduce(&value, &out, 1, ncclFloat, op, comm, nullptr), ncclSuccess) << last_sentence();
  EXPECT_EQ(out, 15);
  EXPECT_EQ(ncclRedOpDestroy(op, comm), ncclSuccess);
}

TEST(Collectives, OperatorsBelongToTheirCommunicatorAndType) {
  Alone comm, other;
  float factor = 2, value = 3;
  ncclRedOp_t op = ncclSum;
  ASSERT_EQ(ncclRedOpCreatePreMulSum(&op, &factor, ncclFloat, ncclScalarHostImmediate, comm), ncclSuccess);
  EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclFloat, op, other, nullptr), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("for this communicator"));
  EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, op, comm, nullptr), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("made for float32 and is used with int32"));
  EXPECT_EQ(ncclRedOpDestroy(op, other), ncclInvalidArgument);
  EXPECT_EQ(ncclRedOpDestroy(ncclSum, comm), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("builtin"));
  EXPECT_EQ(ncclRedOpDestroy(op, comm), ncclSuccess);
  EXPECT_EQ(ncclRedOpDestroy(op, comm), ncclInvalidArgument);
}

TEST(Collectives, MemoryOfTheLibrary) {
  with_ranks(kRanks, [](ncclComm_t comm, int rank) {
    void* memory = nullptr;
    void* handle = comm;
    ncclWindow_t window;
    ASSERT_EQ(ncclMemAlloc(&memory, 1 << 16), ncclSuccess) << last_sentence();
    EXPECT_EQ(ncclCommRegister(comm, memory, 1 << 16, &handle), ncclSuccess);
    EXPECT_EQ(ncclCommWindowRegister(comm, memory, 1 << 16, &window, NCCL_WIN_COLL_SYMMETRIC), ncclSuccess);
    auto* const values = static_cast<int*>(memory);
    std::fill_n(values, 1000, rank);
    EXPECT_EQ(ncclAllReduce(values, values + 1000, 1000, ncclInt, ncclSum, comm, nullptr), ncclSuccess)
        << last_sentence();
    EXPECT_THAT(std::vector<int>(values + 1000, values + 2000), Each(3));
    EXPECT_EQ(ncclCommDeregister(comm, handle), ncclSuccess);
    EXPECT_EQ(ncclCommWindowDeregister(comm, window), ncclSuccess);
    EXPECT_EQ(ncclMemFree(memory), ncclSuccess);
  });
}

/// Memory of the user's own: in a file that peers can map, and not.
TEST(Collectives, RegisteredMemory) {
  with_ranks(kRanks, [](ncclComm_t comm, int rank) {
    constexpr size_t kBytes = 1 << 20;
    const int fd = memfd_create("the user's", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(fd, kBytes), 0);
    void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ASSERT_NE(memory, MAP_FAILED);
    auto* const values = static_cast<int*>(memory) + 7;
    void* handle = nullptr;
    EXPECT_EQ(ncclCommRegister(comm, values, 800'000, &handle), ncclSuccess) << last_sentence();
    EXPECT_NE(handle, nullptr);
    for (const size_t count : {1000, 100'000}) {
      std::fill_n(values, count, rank);
      EXPECT_EQ(ncclAllReduce(values, values + count, count, ncclInt, ncclSum, comm, nullptr), ncclSuccess)
          << last_sentence();
      EXPECT_THAT(std::vector<int>(values + count, values + 2 * count), Each(3));
    }
    ncclWindow_t window;
    EXPECT_EQ(ncclCommWindowRegister(comm, values, 800'000, &window, 0), ncclSuccess);
    EXPECT_NE(window, nullptr);
    EXPECT_EQ(ncclCommWindowDeregister(comm, window), ncclSuccess);
    EXPECT_EQ(ncclCommWindowDeregister(comm, window), ncclInvalidUsage);
    EXPECT_EQ(ncclCommDeregister(comm, handle), ncclSuccess);
    std::vector<int> heap(100);
    EXPECT_EQ(ncclCommRegister(comm, heap.data(), 400, &handle), ncclSuccess);
    EXPECT_EQ(handle, nullptr) << "peers cannot map it";
    munmap(memory, kBytes);
    close(fd);
  });
}

}  // namespace
}  // namespace weir::api
