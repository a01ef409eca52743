// SPDX-License-Identifier: Apache-2.0

#include "transports/memory/shm.h"

#include <gmock/gmock.h>

#include "tests/transports/conformance.h"
#include "transports/memory/segment_mapper.h"

namespace weir::testing {
namespace {

using ::testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(Shm, Conformance,
                         ::testing::ValuesIn(with_faults({{"processes", PeerKind::processes, shm_node},
                                                          {"threads", PeerKind::threads, shm_node}})),
                         setup_name);

TEST(Shm, RefusesWhatTheUserSwitchedOff) {
  const auto segment = test_segment(0);
  const auto off = make_shm(test_identity(0), segment.get(), true);
  EXPECT_THAT(off->reach(off->address()).why_not, HasSubstr("NCCL_SHM_DISABLE"));
}

TEST(Shm, RefusesAnotherHost) {
  const auto segment = test_segment(0);
  Identity elsewhere = test_identity(1);
  elsewhere.host += 1;
  const auto here = make_shm(test_identity(0), segment.get(), false);
  EXPECT_THAT(here->reach(make_shm(elsewhere, segment.get(), false)->address()).why_not,
              HasSubstr("another host"));
}

TEST(Shm, RefusesASegmentOfAnotherRankOrCommunicator) {
  const auto segment = test_segment(0);
  const auto here = make_shm(test_identity(0), segment.get(), false);
  EXPECT_THAT(here->segment_mapper()
                  ->map(make_shm(test_identity(1), segment.get(), false)->address())
                  .status()
                  .message(),
              HasSubstr("is the segment of rank 0"));
  Identity other = test_identity(0);
  other.uid = 5;
  EXPECT_THAT(
      make_shm(other, segment.get(), false)->segment_mapper()->map(here->address()).status().message(),
      HasSubstr("communicator c0ffee"));
}

TEST(Shm, WithoutASegmentReachesNobody) {
  const auto segment = test_segment(0);
  const auto homeless = make_shm(test_identity(0), {nullptr, "memfd_create is refused"}, false);
  EXPECT_TRUE(homeless->address().empty());
  EXPECT_THAT(homeless->reach(make_shm(test_identity(1), segment.get(), false)->address()).why_not,
              HasSubstr("no segment in shared memory: memfd_create is refused"));
}

TEST(Shm, RefusesAnOwnerThatHasGone) {
  Bytes address;
  const auto here_segment = test_segment(1);
  {
    const auto segment = test_segment(0);
    address = make_shm(test_identity(0), segment.get(), false)->address();
  }
  const auto here = make_shm(test_identity(1), here_segment.get(), false);
  EXPECT_THAT(here->reach(address).why_not, HasSubstr("released"));
}

TEST(Shm, ProbesOneOfThePeersThatTheKernelTreatsAlike) {
  const auto own_segment = test_segment(1);
  const auto here = make_shm(test_identity(1), own_segment.get(), false);
  Bytes gone;
  {
    const auto segment = test_segment(0);
    gone = make_shm(test_identity(0), segment.get(), false)->address();
  }
  const auto there_segment = test_segment(2);
  const auto there = make_shm(test_identity(2), there_segment.get(), false);
  EXPECT_TRUE(here->reach(there->address()).ok);
  EXPECT_TRUE(here->reach(gone).ok) << "a peer like one that was reached is not probed";
  EXPECT_THAT(here->segment_mapper()->map(gone).status().message(), HasSubstr("released"));
  Bytes of_another_user = gone;
  of_another_user.back() ^= std::byte{1};  // the address ends with ShareHandle::access
  EXPECT_THAT(here->reach(of_another_user).why_not, HasSubstr("released"));
}

}  // namespace
}  // namespace weir::testing
