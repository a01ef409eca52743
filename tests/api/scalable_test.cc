// SPDX-License-Identifier: Apache-2.0
// ncclCommInitRankScalable, with several ids.
#include <algorithm>
#include <cstring>

#include "tests/api/ranks.h"

namespace weir::api {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kMany = 5;

std::vector<ncclUniqueId> make_ids(size_t count) {
  std::vector<ncclUniqueId> ids(count);
  for (ncclUniqueId& id : ids) EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess) << last_sentence();
  return ids;
}

/// Ranks as threads, each with its own copy of the ids.
void sum_with(const std::vector<ncclUniqueId>& ids) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kMany; ++rank) {
    threads.emplace_back([rank, own = ids]() mutable {
      ncclComm_t comm = nullptr;
      ASSERT_EQ(
          ncclCommInitRankScalable(&comm, kMany, rank, static_cast<int>(own.size()), own.data(), nullptr),
          ncclSuccess)
          << last_sentence();
      std::memset(own.data(), 0, own.size() * sizeof(ncclUniqueId));  // nobody reads them any more
      EXPECT_EQ(sum_over(comm, rank), 10);
      EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess) << last_sentence();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Scalable, RanksMeetThroughOneToAsManyIds) {
  for (size_t count = 1; count <= kMany; ++count) sum_with(make_ids(count));
}

TEST(Scalable, AnIdThatIsGivenTwiceCountsOnce) {
  const auto ids = make_ids(2);
  sum_with({ids[0], ids[1], ids[0], ids[1], ids[1]});
  const auto one = make_ids(1);
  sum_with({one[0], one[0], one[0]});
}

TEST(Scalable, TheIdsMayBeFreedBeforeAGroupEnds) {
  auto ids = std::make_unique<std::vector<ncclUniqueId>>(make_ids(2));
  std::vector<ncclComm_t> comms(3);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int rank = 0; rank < 3; ++rank)
    ASSERT_EQ(ncclCommInitRankScalable(&comms[static_cast<size_t>(rank)], 3, rank, 2, ids->data(), nullptr),
              ncclSuccess);
  ids.reset();
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << last_sentence();
  for (const ncclComm_t comm : comms) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST(Scalable, ADamagedIdIsNamed) {
  auto ids = make_ids(3);
  ids[1].internal[40] ^= 1;
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRankScalable(&comm, 3, 0, 3, ids.data(), nullptr), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), AllOf(HasSubstr("ncclCommInitRankScalable : commIds[1] of 3: "),
                                     HasSubstr("its checksum is wrong")));
}

}  // namespace
}  // namespace weir::api
