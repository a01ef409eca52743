// What RCCL has beyond NCCL.
#include <array>
#include <string>
#include <unordered_map>

#include "tests/api/ranks.h"

// Declared as in rccl/rccl.h, which cannot be included beside nccl.h.
extern "C" {
ncclResult_t ncclAllToAll(const void*, void*, size_t, ncclDataType_t, ncclComm_t, cudaStream_t);
ncclResult_t ncclAlltoAllv(const void*, const size_t*, const size_t*, void*, const size_t*, const size_t*,
                           ncclDataType_t, ncclComm_t, cudaStream_t);
ncclResult_t ncclAllToAllv(const void*, const size_t*, const size_t*, void*, const size_t*, const size_t*,
                           ncclDataType_t, ncclComm_t, cudaStream_t);
}
ncclResult_t ncclCommDump(const ncclComm_t comm, std::unordered_map<std::string, std::string>& map);

namespace weir::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Counts = std::array<size_t, 2>;

TEST(Rccl, BlocksOfDifferentSizesByBothNames) {
  with_ranks(2, [](ncclComm_t comm, int rank) {
    // Rank r sends r + 1 elements to rank 0, and one to rank 1.
    const Counts sent{static_cast<size_t>(rank) + 1, 1}, sent_at{0, static_cast<size_t>(rank) + 1};
    const Counts received = rank == 0 ? Counts{1, 2} : Counts{1, 1};
    const Counts received_at{0, received[0]};
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
