// SPDX-License-Identifier: Apache-2.0
// Wrong arguments and wrong usage: the right code, and a sentence that names function, argument and
// expectation.
#include <limits>

#include "src/api/device_api.h"
#include "tests/api/ranks.h"

namespace weir::api {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Errors : public ::testing::Test {
 protected:
  ncclResult_t all_reduce(size_t count, int type, int op) {
    return ncclAllReduce(in_, out_, count, static_cast<ncclDataType_t>(type), static_cast<ncclRedOp_t>(op),
                         comm_, nullptr);
  }

  Alone comm_;
  float in_[4] = {1, 2, 3, 4};
  float out_[4] = {};
};

TEST_F(Errors, TypesOutOfRange) {
  EXPECT_EQ(all_reduce(1, 12, ncclSum), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("ncclAllReduce : invalid type 12"));
  EXPECT_EQ(all_reduce(1, -1, ncclSum), ncclInvalidArgument);
}

TEST_F(Errors, OperatorsThatNobodyMade) {
  for (const int op : {5, -1, 1 << 30, std::numeric_limits<int>::max()}) {
    EXPECT_EQ(all_reduce(1, ncclFloat, op), ncclInvalidArgument);
    EXPECT_THAT(last_sentence(), HasSubstr("ncclAllReduce : invalid reduction operation"));
  }
}

TEST_F(Errors, CountsThatFitNoBuffer) {
  for (const size_t count : {static_cast<size_t>(-1), size_t{1} << 62, size_t{1} << 61}) {
    EXPECT_EQ(all_reduce(count, ncclFloat, ncclSum), ncclInvalidArgument);
    EXPECT_THAT(last_sentence(), AllOf(HasSubstr("invalid count"), HasSubstr(std::to_string(count))));
  }
}

TEST(Overlap, IsRefusedUnlessTheCallIsInPlace) {
  constexpr int kTwo = 2;
  constexpr size_t kCount = 100;
  Together together(kTwo);
  with_ranks(kTwo, [&together](ncclComm_t comm, int rank) {
    std::vector<float> data(8 * kCount, 1);
    float* const a = data.data();
    const auto expect_refused = [&together](ncclResult_t result, const char* words) {
      EXPECT_EQ(result, ncclInvalidArgument);
      EXPECT_THAT(together.sentence(),
                  AllOf(HasSubstr("overlap, but not as in a call in place"), HasSubstr(words)));
    };
    expect_refused(ncclAllReduce(a, a + 16, kCount, ncclFloat, ncclSum, comm, nullptr),
                   "expected the same address");
    expect_refused(
        ncclAllGather(a + kCount * static_cast<size_t>(1 - rank), a, kCount, ncclFloat, comm, nullptr),
        "sendbuff to be this rank's block of recvbuff");
    expect_refused(ncclReduceScatter(a, a + kCount * static_cast<size_t>(1 - rank), kCount, ncclFloat,
                                     ncclSum, comm, nullptr),
                   "recvbuff to be this rank's block of sendbuff");
    expect_refused(ncclAlltoAll(a, a + 1, kCount, ncclFloat, comm, nullptr), "expected two buffers");
    float* const own = a + kCount * static_cast<size_t>(rank);
    EXPECT_EQ(ncclAllReduce(a, a, kCount, ncclFloat, ncclSum, comm, nullptr), ncclSuccess);
    EXPECT_EQ(ncclAllReduce(a, a + kCount, kCount, ncclFloat, ncclSum, comm, nullptr), ncclSuccess);
    EXPECT_EQ(ncclAllGather(own, a, kCount, ncclFloat, comm, nullptr), ncclSuccess);
    EXPECT_EQ(ncclReduceScatter(a, own, kCount, ncclFloat, ncclSum, comm, nullptr), ncclSuccess);
    EXPECT_EQ(
        ncclBroadcast(rank == 0 ? a : a + 16, rank == 0 ? a : a + 16, kCount, ncclFloat, 0, comm, nullptr),
        ncclSuccess);
    EXPECT_EQ(ncclReduce(a, rank == 0 ? a : a + 16, kCount, ncclFloat, ncclSum, 0, comm, nullptr),
              ncclSuccess)
        << "only the root has a result";
    EXPECT_EQ(ncclAllReduce(a, a + 16, 0, ncclFloat, ncclSum, comm, nullptr), ncclSuccess)
        << "nothing overlaps";
  });
}

TEST_F(Errors, RootsAndPeersOutOfRange) {
  for (const int root : {-1, 1}) {
    EXPECT_EQ(ncclReduce(in_, out_, 1, ncclFloat, ncclSum, root, comm_, nullptr), ncclInvalidArgument);
    EXPECT_THAT(last_sentence(), HasSubstr("ncclReduce : invalid root " + std::to_string(root)));
    EXPECT_EQ(ncclBroadcast(in_, out_, 1, ncclFloat, root, comm_, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclBcast(in_, 1, ncclFloat, root, comm_, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclGather(in_, out_, 1, ncclFloat, root, comm_, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclScatter(in_, out_, 1, ncclFloat, root, comm_, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclSend(in_, 1, ncclFloat, root, comm_, nullptr), ncclInvalidArgument);
    EXPECT_THAT(last_sentence(), HasSubstr("ncclSend : invalid peer"));
    EXPECT_EQ(ncclRecv(out_, 1, ncclFloat, root, comm_, nullptr), ncclInvalidArgument);
  }
}

TEST_F(Errors, NullBuffersWhereOneIsNeeded) {
  EXPECT_EQ(ncclAllReduce(nullptr, out_, 1, ncclFloat, ncclSum, comm_, nullptr), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("sendbuff is NULL"));
  EXPECT_EQ(ncclAllGather(in_, nullptr, 1, ncclFloat, comm_, nullptr), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("recvbuff is NULL"));
  EXPECT_EQ(ncclAllReduce(nullptr, nullptr, 0, ncclFloat, ncclSum, comm_, nullptr), ncclSuccess)
      << "nothing to do";
}

TEST_F(Errors, StreamsThatAreNone) {
  EXPECT_EQ(ncclAllReduce(in_, out_, 1, ncclFloat, ncclSum, comm_, reinterpret_cast<cudaStream_t>(1)),
            ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("is not a host stream"));
  EXPECT_EQ(ncclAllReduce(in_, out_, 1, ncclFloat, ncclSum, comm_, reinterpret_cast<cudaStream_t>(in_)),
            ncclInvalidArgument);
}

TEST_F(Errors, NullWhereAResultGoes) {
  EXPECT_EQ(ncclGetVersion(nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclGetUniqueId(nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommCount(comm_, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommSplit(comm_, 0, 0, nullptr, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclMemAlloc(nullptr, 1), ncclInvalidArgument);
  EXPECT_EQ(ncclCommRegister(comm_, in_, sizeof(in_), nullptr), ncclInvalidArgument);
}

TEST_F(Errors, RanksThatCannotBe) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclComm_t comm = comm_;
  for (const auto& [ranks, rank] : {std::pair{0, 0}, {-1, 0}, {2, 2}, {2, -1}}) {
    EXPECT_EQ(ncclCommInitRank(&comm, ranks, id, rank), ncclInvalidArgument);
    EXPECT_THAT(last_sentence(), HasSubstr("invalid rank requested"));
    EXPECT_EQ(comm, nullptr);
  }
  EXPECT_EQ(ncclCommInitRank(nullptr, 1, id, 0), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRankScalable(&comm, 2, 0, 3, &id, nullptr), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("invalid nId 3"));
  EXPECT_EQ(ncclCommInitRankScalable(&comm, 2, 0, 1, nullptr, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitAll(&comm, -1, nullptr), ncclInvalidArgument);
}

TEST_F(Errors, AnIdOfAnotherLibrary) {
  ncclUniqueId id = {};
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), ::testing::Not(HasSubstr("ncclGetLastError")));
  EXPECT_NE(last_sentence(), "");
}

TEST_F(Errors, ConfigsThatAreNone) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclConfig_t config = {};
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("NCCL_CONFIG_INITIALIZER"));
}

TEST_F(Errors, ColorsBelowNoColor) {
  ncclComm_t child = comm_;
  EXPECT_EQ(ncclCommSplit(comm_, -2, 0, &child, nullptr), ncclInvalidArgument);
  EXPECT_EQ(child, nullptr);
}

TEST_F(Errors, HandlesThatWereNotRegistered) {
  EXPECT_EQ(ncclCommDeregister(comm_, in_), ncclInvalidUsage);
  EXPECT_EQ(ncclCommDeregister(comm_, nullptr), ncclSuccess);
  EXPECT_EQ(ncclMemFree(in_), ncclInvalidArgument);
  EXPECT_EQ(ncclMemFree(nullptr), ncclSuccess);
  ncclWindow_t window;
  EXPECT_EQ(ncclCommWindowRegister(comm_, in_, sizeof(in_), &window, 0x80), ncclInvalidArgument);
}

TEST(Words, EveryResultHasItsString) {
  EXPECT_STREQ(ncclGetErrorString(ncclSuccess), "no error");
  EXPECT_STREQ(ncclGetErrorString(ncclInvalidUsage), "invalid usage (run with NCCL_DEBUG=WARN for details)");
  EXPECT_STREQ(ncclGetErrorString(ncclRemoteError), "remote process exited or there was a network error");
  EXPECT_STREQ(ncclGetErrorString(ncclInProgress), "NCCL operation in progress");
  EXPECT_STREQ(ncclGetErrorString(static_cast<ncclResult_t>(77)), "unknown result code");
}

TEST(Words, WhatIsNotOfferedSaysWhatToUseInstead) {
  EXPECT_EQ(ncclDevCommCreate(nullptr, nullptr, nullptr), ncclInvalidUsage);
  EXPECT_THAT(last_sentence(),
              AllOf(HasSubstr("ncclDevCommCreate is not offered"), HasSubstr("from the host")));
}

}  // namespace
}  // namespace weir::api
