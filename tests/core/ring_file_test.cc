// SPDX-License-Identifier: Apache-2.0
// Rings from files of NCCL, and how many of them run.
#include "src/core/planning/ring_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/catalogue/ring_set.h"

namespace weir::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kRings = R"(<graphs version="1">
  <graph id="1" pattern="3" crossnic="0" nchannels="1" speedintra="24" speedinter="12" latencyinter="0" typeintra="NVL" typeinter="PXN" samechannels="1">
    <channel><gpu dev="0"/><gpu dev="1"/></channel>
  </graph>
  <graph id="0" pattern="4" crossnic="0" nchannels="2" speedintra="24" speedinter="12" latencyinter="0" typeintra="NVL" typeinter="PXN" samechannels="0">
    <channel><net dev="1"/><gpu dev="2"/><gpu dev="0"/><gpu dev="3"/><gpu dev="1"/><net dev="0"/></channel>
    <channel><gpu dev="0"/><gpu dev="1"/><gpu dev="2"/><gpu dev="3"/></channel>
  </graph>
</graphs>
)";

TEST(RingFile, AllRingsAreRead) {
  const auto rings = devices_in_rings(kRings, "rings.xml");
  ASSERT_TRUE(rings.ok()) << rings.status().message();
  EXPECT_THAT(*rings, ElementsAre(ElementsAre(2, 0, 3, 1), ElementsAre(0, 1, 2, 3)));
}

TEST(RingFile, WithoutARingIsRefused) {
  EXPECT_EQ(devices_in_rings("<graphs version=\"1\"></graphs>", "none.xml").status().message(),
            "none.xml: there is no ring; expected a <graph> with id 0");
  EXPECT_THAT(devices_in_rings("no XML", "bad.xml").status().message(), HasSubstr("bad.xml:1: "));
}

TEST(RingFile, RanksOfEachHostFollowThem) {
  const std::vector<topology::Index> hosts = {7, 5, 7, 5,
                                              7, 5, 7, 7};  // five ranks on one, three on the other
  algorithms::Layout layout{{0, 2, 4, 6, 7, 1, 3, 5}, {{0, 5}}};
  follow_rings(layout, hosts, std::vector<Devices>{{2, 0, 3, 1}, {0, 1, 2, 3}});
  EXPECT_THAT(layout.order, ElementsAre(4, 0, 6, 2, 7, 5, 1, 3)) << "device 4 is not in the ring";
  EXPECT_THAT(layout.levels, ElementsAre(ElementsAre(0, 5)));
  // Places, by the devices of their ranks: 2, 0, 3, 1, 4, and on the other host 2, 0, 1.
  EXPECT_THAT(layout.rings,
              ElementsAre(ElementsAre(0, 1, 2, 3, 4, 5, 6, 7), ElementsAre(1, 3, 0, 2, 4, 6, 7, 5)));
}

TEST(RingLimits, RepeatAndLeaveOut) {
  const algorithms::Layout one{{1, 0, 2}};
  const auto rings = [](algorithms::Layout layout, size_t least, size_t most) {
    limit_rings(layout, least, most);
    return layout.rings;
  };
  EXPECT_THAT(rings(one, 1, 64), IsEmpty()) << "one ring in order";
  EXPECT_THAT(rings(one, 2, 64), ElementsAre(ElementsAre(0, 1, 2), ElementsAre(0, 1, 2)));
  algorithms::Layout two = one;
  two.rings = {{0, 1, 2}, {0, 2, 1}};
  EXPECT_EQ(rings(two, 1, 64), two.rings);
  EXPECT_THAT(rings(two, 3, 64), ElementsAre(two.rings[0], two.rings[1], two.rings[0]));
  EXPECT_THAT(rings(two, 1, 1), IsEmpty()) << "the first is the order of places";
  EXPECT_EQ(rings(one, 64, 64).size(), algorithms::kMostRings);
}

TEST(RingLimits, PlansOfManyRanksStaySmall) {
  algorithms::Layout many;
  many.order = algorithms::ring_in_order(400);
  limit_rings(many, 64, 64);
  EXPECT_EQ(many.rings.size(), 3u) << "320,000 moves each";
  many.order = algorithms::ring_in_order(1000);
  limit_rings(many, 64, 64);
  EXPECT_THAT(many.rings, IsEmpty());
}

}  // namespace
}  // namespace weir::core
