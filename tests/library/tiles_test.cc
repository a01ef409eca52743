// SPDX-License-Identifier: Apache-2.0
// Messages between hosts are larger than inside, and plans cut them: sizes around the borders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "tests/library/processes.h"

namespace weir::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::Not;

constexpr size_t kKiB = 1024;
constexpr double kLimit = 240;  // seconds: sanitizers on a busy machine take their time

/// Bytes of a block. Neighbours share plans, not tiles: those of quarters and of whole messages take turns.
constexpr size_t kSizes[] = {1,
                             64 * kKiB,
                             256 * kKiB,
                             64 * kKiB + 1,
                             1024 * kKiB + 1,
                             256 * kKiB - 1,
                             256 * kKiB + 1,
                             2048 * kKiB + 64,
                             512 * kKiB - 63,
                             1024 * kKiB};

constexpr int kPerRank = 31;
uint8_t value(int rank, size_t at) { return static_cast<uint8_t>(at * 7 + (at >> 8) + kPerRank * rank); }

std::vector<uint8_t> values(int rank, size_t bytes) {
  std::vector<uint8_t> all(bytes);
  for (size_t i = 0; i < bytes; ++i) all[i] = value(rank, i);
  return all;
}

void check_size(ncclComm_t comm, const Rank& rank, size_t bytes) {
  const int self = rank.rank();
  const int ranks = rank.ranks();
  const std::vector<uint8_t> own = values(self, bytes);
  std::vector<uint8_t> got(bytes);
  for (const int root : {0, ranks - 1}) {
    expect_success(ncclBroadcast(own.data(), got.data(), bytes, ncclUint8, root, comm, nullptr), "broadcast");
    EXPECT_TRUE(got == values(root, bytes)) << "broadcast of " << bytes << " from " << root;
  }
  expect_success(ncclAllReduce(own.data(), got.data(), bytes, ncclUint8, ncclSum, comm, nullptr), "sum");
  std::vector<uint8_t> sum = values(0, bytes);
  for (uint8_t& one : sum) one = static_cast<uint8_t>(one * ranks + kPerRank * ranks * (ranks - 1) / 2);
  EXPECT_TRUE(got == sum) << "all-reduce of " << bytes;
  const int next = (self + 1) % ranks;
  const int previous = (self + ranks - 1) % ranks;
  expect_success(ncclGroupStart(), "begin");
  expect_success(ncclSend(own.data(), bytes, ncclUint8, next, comm, nullptr), "send");
  expect_success(ncclRecv(got.data(), bytes, ncclUint8, previous, comm, nullptr), "receive");
  expect_success(ncclGroupEnd(), "end");
  EXPECT_TRUE(got == values(previous, bytes)) << "sent " << bytes;
}

class Tiles : public ::testing::Test {
 protected:
  Tiles() {
    char name[] = "/tmp/weir_tiles_XXXXXX";
    folder_ = mkdtemp(name);
    // The network has all of the time, so that cores do not count; a message is little work.
    std::ofstream(folder_ + "/costs") << "inside.alpha 1e-6\ninside.overhead 1e-7\ninside.beta 1e-10\n"
                                         "between.alpha 1e-5\nbetween.overhead 1e-6\nbetween.beta 1e-9\n"
                                         "between.wire 1e-9\ngamma 0\n";
  }
  ~Tiles() override { std::filesystem::remove_all(folder_); }

  /// Rank r is on host r % hosts; what rank 0 logs of its tables.
  std::string log_of(int ranks, int hosts, const std::string& algorithm,
                     const std::string& slot_bytes) const {
    EXPECT_TRUE(all_well(run_ranks(
        ranks,
        [&](const Rank& rank) {
          setenv("NCCL_HOSTID", ("node" + std::to_string(rank.rank() % hosts)).c_str(), 1);
          setenv("NCCL_DEBUG", "INFO", 1);
          setenv("NCCL_DEBUG_SUBSYS", "TUNING", 1);
          setenv("NCCL_DEBUG_FILE", (folder_ + "/log" + std::to_string(rank.rank())).c_str(), 1);
          setenv("WEIR_COST_FILE", (folder_ + "/costs").c_str(), 1);
          setenv("WEIR_CALIBRATION", "0", 1);
          setenv("WEIR_ALGO", algorithm.c_str(), 1);
          if (!slot_bytes.empty()) setenv("WEIR_SLOT_BYTES", slot_bytes.c_str(), 1);
          ncclComm_t comm = rank.connect();
          for (const size_t bytes : kSizes) check_size(comm, rank, bytes);
          expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
        },
        kLimit)));
    std::ostringstream text;
    text << std::ifstream(folder_ + "/log0").rdbuf();
    return text.str();
  }

 private:
  std::string folder_;
};

// 128 KiB as two tiles of 64 KiB: the first passes three hops of 10 us + 65.536 us, the second is 1 us
// + 65.536 us later.
const std::string kQuarters = "broadcast: from +128K +ring +293 us  in tiles of 1/4";

TEST_F(Tiles, OfChainsBetweenHostsAreChosen) {
  EXPECT_THAT(log_of(4, 4, "ring", ""), ContainsRegex(kQuarters));
  EXPECT_THAT(log_of(4, 4, "ring", "65536"), Not(ContainsRegex("in tiles of")));
}

TEST_F(Tiles, OfOneHostAreWhole) { EXPECT_THAT(log_of(3, 1, "ring", ""), Not(ContainsRegex("in tiles of"))); }

TEST_F(Tiles, OfAnyPlanGiveTheRightValues) {
  for (const std::string algorithm : {"", "hierarchical", "double_tree"}) log_of(5, 2, algorithm, "");
}

}  // namespace
}  // namespace weir::testing
