// SPDX-License-Identifier: Apache-2.0
// What RCCL has beyond NCCL.
#include <array>
#include <string>
#include <unordered_map>

#include "tests/api/ranks.h"
#include "weir/stream.h"

// Declared as in rccl/rccl.h, which cannot be included beside nccl.h.
extern "C" {
ncclResult_t ncclAllToAll(const void*, void*, size_t, ncclDataType_t, ncclComm_t, cudaStream_t);
ncclResult_t ncclAlltoAllv(const void*, const size_t*, const size_t*, void*, const size_t*, const size_t*,
                           ncclDataType_t, ncclComm_t, cudaStream_t);
ncclResult_t ncclAllToAllv(const void*, const size_t*, const size_t*, void*, const size_t*, const size_t*,
                           ncclDataType_t, ncclComm_t, cudaStream_t);
ncclResult_t ncclAllReduceWithBias(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                                   cudaStream_t, const void*);
}
ncclResult_t ncclCommDump(const ncclComm_t comm, std::unordered_map<std::string, std::string>& map);

namespace weir::api {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;

using TwoCounts = std::array<size_t, 2>;

TEST(Rccl, BlocksOfDifferentSizesByBothNames) {
  with_ranks(2, [](ncclComm_t comm, int rank) {
    // Rank r sends r + 1 elements to rank 0, and one to rank 1.
    const TwoCounts sent{static_cast<size_t>(rank) + 1, 1}, sent_at{0, static_cast<size_t>(rank) + 1};
    const TwoCounts received = rank == 0 ? TwoCounts{1, 2} : TwoCounts{1, 1};
    const TwoCounts received_at{0, received[0]};
    const std::vector<int> in = {10 * rank, 10 * rank + 1, 10 * rank + 2};
    for (const auto call : {&ncclAlltoAllv, &ncclAllToAllv}) {
      std::vector<int> out(3, -1);
      ASSERT_EQ(call(in.data(), sent.data(), sent_at.data(), out.data(), received.data(), received_at.data(),
                     ncclInt, comm, nullptr),
                ncclSuccess)
          << last_sentence();
      if (rank == 0) {
        EXPECT_THAT(out, ElementsAre(0, 10, 11));
      } else {
        EXPECT_THAT(out, ElementsAre(1, 12, -1));
      }
    }
    std::vector<int> out(2, -1);
    EXPECT_EQ(ncclAllToAll(in.data(), out.data(), 1, ncclInt, comm, nullptr), ncclSuccess);
    EXPECT_THAT(out, ElementsAre(rank, 10 + rank));
  });
}

TEST(Rccl, CountsMayNotBeMissing) {
  Alone comm;
  const size_t one = 1, at = 0;
  int in = 7, out = 0;
  EXPECT_EQ(ncclAlltoAllv(&in, nullptr, &at, &out, &one, &at, ncclInt, comm, nullptr), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("counts and displacements"));
  EXPECT_EQ(ncclAllToAllv(&in, &one, &at, &out, &one, nullptr, ncclInt, comm, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclAlltoAllv(&in, &one, &at, &out, &one, &at, ncclInt, nullptr, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclAlltoAllv(&in, &one, &at, &out, &one, &at, ncclInt, comm, nullptr), ncclSuccess);
  EXPECT_EQ(out, 7);
}

TEST(Rccl, ABiasIsCombinedWithTheResult) {
  constexpr size_t kCount = 1001;
  with_ranks(3, [](ncclComm_t comm, int rank) {
    const std::vector<float> in(kCount, static_cast<float>(rank + 1)), bias(kCount, 10);
    const auto reduced = [&](ncclRedOp_t op, const void* acc, bool in_place) {
      std::vector<float> out = in_place ? in : std::vector<float>(kCount, -1);
      EXPECT_EQ(ncclAllReduceWithBias(in_place ? out.data() : in.data(), out.data(), kCount, ncclFloat, op,
                                      comm, nullptr, acc),
                ncclSuccess)
          << last_sentence();
      return out;
    };
    for (const bool in_place : {false, true}) {
      EXPECT_THAT(reduced(ncclSum, bias.data(), in_place), Each(16.0f));
      EXPECT_THAT(reduced(ncclProd, bias.data(), in_place), Each(60.0f));
      EXPECT_THAT(reduced(ncclMax, bias.data(), in_place), Each(10.0f));
      EXPECT_THAT(reduced(ncclMin, bias.data(), in_place), Each(1.0f));
      EXPECT_THAT(reduced(ncclAvg, bias.data(), in_place), Each(FloatEq(12.0f)));
      EXPECT_THAT(reduced(ncclSum, nullptr, in_place), Each(6.0f)) << "none";
    }
  });
}

TEST(Rccl, BiasesInGroupsAndOnStreams) {
  with_ranks(2, [](ncclComm_t comm, int rank) {
    weirStream_t stream;
    ASSERT_EQ(weirStreamCreate(&stream), 0);
    for (const auto place : {cudaStream_t{}, reinterpret_cast<cudaStream_t>(stream)}) {
      int first = rank, second = rank, plain = rank;
      const int ten = 10, hundred = 100;
      ASSERT_EQ(ncclGroupStart(), ncclSuccess);
      EXPECT_EQ(ncclAllReduceWithBias(&first, &first, 1, ncclInt, ncclSum, comm, place, &ten), ncclSuccess);
      EXPECT_EQ(ncclAllReduce(&plain, &plain, 1, ncclInt, ncclSum, comm, place), ncclSuccess);
      EXPECT_EQ(ncclAllReduceWithBias(&second, &second, 1, ncclInt, ncclSum, comm, place, &hundred),
                ncclSuccess);
      ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << last_sentence();
      EXPECT_EQ(weirStreamSynchronize(stream), 0);
      EXPECT_EQ(first, 11);
      EXPECT_EQ(plain, 1);
      EXPECT_EQ(second, 101);
    }
    EXPECT_EQ(weirStreamDestroy(stream), 0);
  });
}

TEST(Rccl, ABiasThatTheResultWouldOverwrite) {
  Alone comm;
  float values[4] = {1, 2, 3, 4};
  EXPECT_EQ(ncclAllReduceWithBias(values, values, 4, ncclFloat, ncclSum, comm, nullptr, values + 3),
            ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("acc overlaps recvbuff"));
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(ncclAllReduceWithBias(values, values, 1, ncclFloat, ncclSum, comm, nullptr, values + 3),
            ncclSuccess);
  EXPECT_EQ(values[0], 5);
}

TEST(Rccl, DumpsTellWhoIsWho) {
  with_ranks(2, [](ncclComm_t comm, int rank) {
    std::unordered_map<std::string, std::string> map;
    ASSERT_EQ(ncclCommDump(comm, map), ncclSuccess);
    EXPECT_EQ(map["rank"], std::to_string(rank));
    EXPECT_EQ(map["nRanks"], "2");
  });
  std::unordered_map<std::string, std::string> map;
  EXPECT_EQ(ncclCommDump(nullptr, map), ncclInvalidArgument);
  EXPECT_TRUE(map.empty());
}

}  // namespace
}  // namespace weir::api
