// SPDX-License-Identifier: Apache-2.0

#include "transports/memory/segment.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "src/base/doorbell.h"
#include "tests/base/limited_child.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Segment> make(size_t ring_pool_bytes, size_t exchange_area_bytes = 0) {
  auto segment = Segment::create(
      {.uid = 1, .rank = 3, .exchange_area_bytes = exchange_area_bytes, .ring_pool_bytes = ring_pool_bytes});
  EXPECT_TRUE(segment.ok()) << segment.status().message();
  return std::move(*segment);
}

TEST(SegmentTest, ShowsPeersTheSameMemory) {
  const auto segment = make(1 << 20, 5000);
  auto attached = device::SharedMemory::attach(segment->handle());
  ASSERT_TRUE(attached.ok());
  const auto peer = view_peer(std::make_shared<device::SharedMemory>(std::move(*attached)), 1, 3);
  ASSERT_TRUE(peer.ok()) << peer.status().message();
  EXPECT_EQ(peer.value().view.exchange_area_bytes, 5000u);
  EXPECT_NE(peer.value().view.exchange_area, segment->view().exchange_area);
  std::memset(segment->view().exchange_area, 7, 5000);
  EXPECT_EQ(peer.value().view.exchange_area[4999], std::byte{7});
  peer.value().view.doorbell->rings = 5;
  EXPECT_EQ(segment->view().doorbell->rings, 5u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(segment->view().exchange_area) % 4096, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(segment->view().doorbell) % 64, 0u);
}

TEST(SegmentTest, RefusesWhatIsNoSegment) {
  auto memory = std::make_shared<device::SharedMemory>(std::move(*device::SharedMemory::create(1 << 20)));
  EXPECT_THAT(view_peer(memory, 1, 3).status().message(), HasSubstr("not a segment"));
  const auto segment = make(1 << 20);
  EXPECT_THAT(view_peer(segment->memory(), 2, 3).status().message(), HasSubstr("communicator 2"));
  std::memset(segment->memory()->data() + 8, 0x55, 4);  // the version
  EXPECT_THAT(view_peer(segment->memory(), 1, 3).status().message(), HasSubstr("same version"));
}

TEST(SegmentTest, CostsNothingUntilTouched) {
  const auto segment = make(size_t{1} << 30, size_t{64} << 20);
  std::ifstream statm("/proc/self/statm");
  size_t total = 0, resident = 0, shared = 0;
  statm >> total >> resident >> shared;
  EXPECT_LT(resident * 4096, size_t{256} << 20);
}

TEST(SegmentTest, OnesOfAllNeighboursFitWhereAddressSpaceIsLimited) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer needs the address space";
#endif
  constexpr size_t kNeighbours = 8;
  const std::string said = testing::in_child([]() -> std::string {
    testing::allow_memory(uint64_t{400} << 20);
    std::vector<std::unique_ptr<Segment>> segments;
    for (size_t i = 0; i < kNeighbours; ++i) {
      auto segment =
          Segment::create({.uid = 1, .rank = 3, .exchange_area_bytes = 0, .neighbours = kNeighbours});
      if (!segment.ok()) return segment.status().message();
      segments.push_back(std::move(*segment));
    }
    return "all fit";
  });
  EXPECT_EQ(said, "all fit");
}

TEST(SegmentTest, TakesASmallerRingPoolWhereAddressSpaceIsLimited) {
  const pid_t child = fork();
  if (child == 0) {
    std::ifstream statm("/proc/self/statm");
    size_t pages = 0;
    statm >> pages;
    const rlimit limit = {(pages * 4096) + (size_t{100} << 20), RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &limit);
    auto segment =
        Segment::create({.uid = 1, .rank = 3, .exchange_area_bytes = 0, .ring_pool_bytes = size_t{1} << 30});
    if (!segment.ok()) _exit(1);
    const auto small = (*segment)->ring_pool().take(size_t{1} << 20);
    auto refused = Segment::create(
        {.uid = 1, .rank = 3, .exchange_area_bytes = size_t{1} << 30, .ring_pool_bytes = 4096});
    const bool told = !refused.ok() && refused.status().message().find("ulimit -v") != std::string::npos;
    _exit(small.ok() && told ? 0 : 2);
  }
  int state = 0;
  waitpid(child, &state, 0);
  EXPECT_EQ(WEXITSTATUS(state), 0);
}

TEST(RingPoolTest, FindsWhatWasAnnouncedAndNothingElse) {
  const auto segment = make(64 << 20);
  RingPool& ring_pool = segment->ring_pool();
  const auto peer = view_peer(segment->memory(), 1, 3);
  ASSERT_TRUE(peer.ok());
  const RingPoolView& view = peer.value().ring_pool;
  std::vector<ChannelPlace> places;
  for (uint32_t i = 0; i < 2000; ++i) {
    auto place = ring_pool.take(100);
    ASSERT_TRUE(place.ok());
    ASSERT_TRUE(ring_pool.announce({static_cast<Rank>(i % 50), i}, *place).ok());
    places.push_back(*place);
  }
  for (uint32_t i = 0; i < 2000; ++i) {
    const auto found = view.find({static_cast<Rank>(i % 50), i});
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->block, places[i].block);
    EXPECT_EQ(found->generation, places[i].generation);
    EXPECT_FALSE(view.find({static_cast<Rank>(i % 50), i + 2000}).has_value());
  }
  EXPECT_THAT(ring_pool.announce({0, 0}, places[0]).message(), HasSubstr("already open"));
  ring_pool.withdraw({0, 0});
  EXPECT_FALSE(view.find({0, 0}).has_value());
}

TEST(RingPoolTest, UsesBlocksAgainOnlyWhenThePeerHasLeft) {
  const auto segment = make(1 << 20);
  RingPool& ring_pool = segment->ring_pool();
  const auto place = ring_pool.take(5000);
  ASSERT_TRUE(place.ok());
  ring_pool.give_back_later(place.value(), 5000, 2);
  EXPECT_NE(ring_pool.take(5000).value().block, place.value().block);
  reinterpret_cast<std::atomic<uint64_t>*>(place.value().block)->store(2);
  const auto again = ring_pool.take(5000);
  EXPECT_EQ(again.value().block, place.value().block);
  EXPECT_NE(again.value().generation, place.value().generation);
}

TEST(RingPoolTest, SaysWhenItIsFull) {
  const auto segment = make(1 << 20);
  EXPECT_TRUE(segment->ring_pool().take(1 << 20).ok());
  EXPECT_THAT(segment->ring_pool().take(1).status().message(), HasSubstr("WEIR_SLOT_BYTES"));
}

TEST(LocalSegmentsTest, FindsOnlyLivingSegmentsOfThisProcess) {
  LocalSegments segments;
  auto segment = make(1 << 20);
  segments.add(segment->memory());
  const device::ShareHandle handle = segment->handle();
  EXPECT_EQ(segments.find(handle), segment->memory());
  const pid_t child = fork();
  if (child == 0) _exit(segments.find(handle) == nullptr ? 0 : 1);
  int state = 0;
  waitpid(child, &state, 0);
  EXPECT_EQ(WEXITSTATUS(state), 0);
  segment.reset();
  EXPECT_EQ(segments.find(handle), nullptr);
}

}  // namespace
}  // namespace weir
