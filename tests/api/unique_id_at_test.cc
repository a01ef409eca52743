// SPDX-License-Identifier: Apache-2.0
/// weirGetUniqueIdAt: ranks that meet at an address that a call names, and ids that a new root has.
#include <cstdlib>
#include <string>
#include <thread>

#include "tests/api/ranks.h"
#include "tests/net/own_loopback.h"
#include "weir/unique_id.h"

namespace weir::api {
namespace {

using ::testing::HasSubstr;

/// Two ranks with ids of their own calls.
void meet(const ncclUniqueId& first, const ncclUniqueId& second) {
  std::thread other([&] {
    ncclComm_t comm = nullptr;
    ASSERT_EQ(ncclCommInitRank(&comm, 2, second, 1), ncclSuccess) << last_sentence();
    EXPECT_EQ(sum_over(comm, 1), 11);
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  });
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, 2, first, 0), ncclSuccess) << last_sentence();
  EXPECT_EQ(sum_over(comm, 10), 11);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  other.join();
}

TEST(UniqueIdAt, RanksMeetAtAnAddressAgainAndAgain) {
  setenv("WEIR_SECRET", "of this test", 1);
  const std::string address = weir::testing::own_loopback_address();
  ncclUniqueId first, second;
  ASSERT_EQ(weirGetUniqueIdAt(address.c_str(), &first), ncclSuccess) << last_sentence();
  ASSERT_EQ(weirGetUniqueIdAt(address.c_str(), &second), ncclSuccess) << last_sentence();
  meet(first, second);
  meet(first, second);
}

TEST(UniqueIdAt, WithoutAnAddressEachIdIsAnother) {
  ncclUniqueId first, second;
  ASSERT_EQ(weirGetUniqueIdAt(nullptr, &first), ncclSuccess) << last_sentence();
  ASSERT_EQ(weirGetUniqueIdAt(nullptr, &second), ncclSuccess) << last_sentence();
  EXPECT_NE(std::string(first.internal, sizeof first.internal),
            std::string(second.internal, sizeof second.internal));
  meet(first, first);
  meet(second, second);
}

TEST(UniqueIdAt, SaysWhatIsWrong) {
  ncclUniqueId id;
  EXPECT_EQ(weirGetUniqueIdAt("nowhere", &id), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("nowhere"));
  EXPECT_EQ(weirGetUniqueIdAt(nullptr, nullptr), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("weirGetUniqueIdAt"));
}

}  // namespace
}  // namespace weir::api
