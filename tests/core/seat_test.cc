#include "src/core/seat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::core {
namespace {

using ::testing::ElementsAre;

Seat seat(uint64_t machine, uint64_t cores, int quota, double alpha) {
  Seat made;
  made.machine = machine;
  made.cores.bits[0] = cores;
  made.quota = quota;
  made.stated.inside = {alpha, alpha / 2, 1e-10};
  made.stated.between = {2e-5, 1e-5, 3e-10};
  return made;
}

std::vector<PeerAddress> on_hosts(std::initializer_list<uint64_t> hosts) {
  std::vector<PeerAddress> peers;
  for (const uint64_t host : hosts) peers.push_back({{}, host, 0, ""});
  return peers;
}

TEST(Seat, TellWhatRanksShare) {
  const std::vector<Seat> seats = {seat(7, 0b0011, 99, 1e-7), seat(8, 0b1111, 3, 2e-7),
                                   seat(7, 0b0110, 99, 1e-7)};
  const cost::Surroundings around = surroundings_of(seats, on_hosts({70, 80, 70}));
  EXPECT_THAT(around.host_of, ElementsAre(0, 1, 0));
  EXPECT_THAT(around.machine_of, ElementsAre(0, 1, 0));
  EXPECT_THAT(around.cores, ElementsAre(3, 3)) << "two masks together; a quota";
  EXPECT_EQ(around.rates.inside.alpha, 2e-7) << "the slower";
  ASSERT_EQ(around.borders.size(), 1u);
  EXPECT_EQ(around.borders[0].beta, 0) << "as between hosts";
  const cost::Surroundings sorted = in_order(around, std::vector<Rank>{0, 2, 1});
  EXPECT_THAT(sorted.host_of, ElementsAre(0, 0, 1));
  EXPECT_THAT(sorted.machine_of, ElementsAre(0, 0, 1));
  EXPECT_THAT(sorted.borders[0].group_of, ElementsAre(0, 0, 1));
}

TEST(Seat, HostsMayBePretended) {
  const std::vector<Seat> seats = {seat(7, 1, 99, 1e-7), seat(7, 2, 99, 1e-7)};
  const cost::Surroundings around = surroundings_of(seats, on_hosts({70, 71}));
  EXPECT_THAT(around.host_of, ElementsAre(0, 1));
  EXPECT_THAT(around.machine_of, ElementsAre(0, 0));
  EXPECT_THAT(around.cores, ElementsAre(2));
}

TEST(Seat, WhoSharesACoreWaitsForIt) {
  const std::vector<Seat> seats = {seat(7, 1, 99, 1e-7), seat(7, 1, 99, 1e-7)};
  EXPECT_GT(surroundings_of(seats, on_hosts({70, 70})).rates.inside.alpha, 1e-6);
}

TEST(Terms, TravelAndOverride) {
  ByteWriter out;
  Terms{"gamma 1e-9\n", "", "^ring", "<graphs/>"}.put(out);
  const Bytes bytes = out.take();
  ByteReader in(bytes);
  const Terms terms = Terms::get(in);
  EXPECT_EQ(terms.graphs, "<graphs/>");
  const cost::Rates rates = {{1, 2, 3}, {4, 5, 6}, 7};
  EXPECT_EQ(terms.override(rates).gamma, 1e-9);
  EXPECT_EQ(terms.override(rates).inside, rates.inside);
  EXPECT_FALSE(terms.filter().allows("ring", Collective::all_reduce));
  EXPECT_TRUE(terms.filter().allows("double_tree", Collective::all_reduce));
  EXPECT_TRUE((Terms{"", "", "no such", ""}).filter().allows("ring", Collective::all_reduce));
  EXPECT_FALSE((Terms{"", "one_shot", "ring", ""}).filter().allows("ring", Collective::all_reduce));
}

}  // namespace
}  // namespace weir::core
