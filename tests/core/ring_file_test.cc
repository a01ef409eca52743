// Rings from files of NCCL as the order of ranks.
#include "src/core/ring_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

TEST(RingFile, TheFirstRingCounts) {
  const auto devices = devices_in_ring(kRings, "rings.xml");
  ASSERT_TRUE(devices.ok()) << devices.status().message();
  EXPECT_THAT(*devices, ElementsAre(2, 0, 3, 1));
}

TEST(RingFile, WithoutARingIsRefused) {
  EXPECT_EQ(devices_in_ring("<graphs version=\"1\"></graphs>", "none.xml").status().message(),
            "none.xml: there is no ring; expected a <graph> with id 0");
  EXPECT_THAT(devices_in_ring("no XML", "bad.xml").status().message(), HasSubstr("bad.xml:1: "));
}

TEST(RingFile, RanksOfEachHostFollowIt) {
  const std::vector<topology::Index> hosts = {7, 5, 7, 5,
                                              7, 5, 7, 7};  // five ranks on one, three on the other
  algorithms::Layout layout{{0, 2, 4, 6, 7, 1, 3, 5}, {{0, 5}}};
  follow_ring(layout, hosts, std::vector<int64_t>{2, 0, 3, 1});
  EXPECT_THAT(layout.order, ElementsAre(4, 0, 6, 2, 7, 5, 1, 3)) << "device 4 is not in the ring";
  EXPECT_THAT(layout.levels, ElementsAre(ElementsAre(0, 5)));
}

}  // namespace
}  // namespace weir::core
