// SPDX-License-Identifier: Apache-2.0
// More than 4 GiB in one call, on a mapping that shows the same memory again and again.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "tests/library/processes.h"

namespace weir::testing {
namespace {

constexpr size_t kPiece = size_t{64} << 20;
constexpr size_t kBytes = (size_t{4} << 30) + kPiece;

/// kBytes of addresses behind which lie only kPiece bytes.
unsigned char* endless(int value) {
  const int fd = memfd_create("piece", 0);
  EXPECT_EQ(ftruncate(fd, kPiece), 0);
  void* begin = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  for (size_t at = 0; at < kBytes; at += kPiece) {
    mmap(static_cast<char*>(begin) + at, kPiece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
  }
  memset(begin, value, kPiece);
  return static_cast<unsigned char*>(begin);
}

TEST(Large, AllReduceOfMoreThanFourGigabytes) {
  const auto endings = run_ranks(
      2,
      [](const Rank& rank) {
        ncclComm_t comm = rank.connect();
        unsigned char* in = endless(rank.rank() + 1);
        unsigned char* out = endless(0);
        const size_t count = kBytes - 5;
        expect_success(ncclAllReduce(in, out, count, ncclUint8, ncclSum, comm, nullptr), "ncclAllReduce");
        for (const size_t at : {size_t{0}, count / 2, size_t{1} << 32, count - 1})
          EXPECT_EQ(out[at], 3) << at;
        expect_success(ncclBroadcast(in, out, count, ncclUint8, 1, comm, nullptr), "ncclBroadcast");
        for (const size_t at : {size_t{0}, count / 2, size_t{1} << 32, count - 1})
          EXPECT_EQ(out[at], 2) << at;
        expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
      },
      110);
  EXPECT_TRUE(all_well(endings));
}

}  // namespace
}  // namespace weir::testing
