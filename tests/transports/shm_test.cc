#include "transports/memory/shm.h"

#include <gmock/gmock.h>

#include "tests/transports/conformance.h"

namespace weir::testing {
namespace {

using ::testing::HasSubstr;

Node shm_node(Rank rank) {
  Node node;
  node.home = test_home(rank);
  node.transport = make_shm(test_identity(rank), node.home.get(), false);
  return node;
}

INSTANTIATE_TEST_SUITE_P(Shm, Conformance,
                         ::testing::ValuesIn(with_faults({{"processes", PeerKind::processes, shm_node},
                                                          {"threads", PeerKind::threads, shm_node}})),
                         setup_name);

TEST(Shm, RefusesWhatTheUserSwitchedOff) {
  const auto home = test_home(0);
  const auto off = make_shm(test_identity(0), home.get(), true);
  EXPECT_THAT(off->reach(off->card()).why_not, HasSubstr("NCCL_SHM_DISABLE"));
}

TEST(Shm, RefusesAnotherHost) {
  const auto home = test_home(0);
  Identity elsewhere = test_identity(1);
  elsewhere.host += 1;
  const auto here = make_shm(test_identity(0), home.get(), false);
  EXPECT_THAT(here->reach(make_shm(elsewhere, home.get(), false)->card()).why_not, HasSubstr("another host"));
}

TEST(Shm, RefusesAHomeOfAnotherRankOrCommunicator) {
  const auto home = test_home(0);
  const auto here = make_shm(test_identity(0), home.get(), false);
  EXPECT_THAT(here->map(make_shm(test_identity(1), home.get(), false)->card()).status().message(),
              HasSubstr("is the home of rank 0"));
  Identity other = test_identity(0);
  other.uid = 5;
  EXPECT_THAT(make_shm(other, home.get(), false)->map(here->card()).status().message(),
              HasSubstr("communicator c0ffee"));
}

TEST(Shm, WithoutAHomeReachesNobody) {
  const auto home = test_home(0);
  const auto homeless = make_shm(test_identity(0), nullptr, false);
  EXPECT_TRUE(homeless->card().empty());
  EXPECT_THAT(homeless->reach(make_shm(test_identity(1), home.get(), false)->card()).why_not,
              HasSubstr("no home"));
}

TEST(Shm, RefusesAnOwnerThatHasGone) {
  Bytes card;
  const auto here_home = test_home(1);
  {
    const auto home = test_home(0);
    card = make_shm(test_identity(0), home.get(), false)->card();
  }
  const auto here = make_shm(test_identity(1), here_home.get(), false);
  EXPECT_THAT(here->reach(card).why_not, HasSubstr("released"));
}

}  // namespace
}  // namespace weir::testing
