// SPDX-License-Identifier: Apache-2.0
// Sends and receives by the host's build of the kernel: a thread for each block, rings in memory.
#include "src/exec/gpu/pair_table.h"

#include <dlfcn.h>

#include "tests/exec/pair_ranks.h"

namespace weir::exec::gpu {

HostPairsKernel pairs_kernel() {
  void* const library = dlopen(WEIR_HOST_KERNELS, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  return reinterpret_cast<HostPairsKernel>(dlsym(library, "weir_pairs"));
}

namespace {

/// One block has all lanes of a rank, two have some, many leave some idle; and again on the same rings.
TEST(GpuPairs, AnyNumberOfBlocksWillDo) {
  for (const uint32_t blocks : {1u, 2u, 40u}) {
    PairRanks all(3, 4, blocks);
    EXPECT_EQ(exchange(all, 3, 40, true, blocks), "");
    EXPECT_EQ(exchange(all, 3, 40, true, blocks + 1), "");
  }
}

TEST(GpuPairs, TablesThatAreTooLongForAnArgument) {
  PairRanks all(2, 2, 3);
  EXPECT_EQ(exchange(all, 2, 300, false, 5), "");
  EXPECT_EQ(exchange(all, 2, 20, true, 6), "");
}

TEST(GpuPairs, WhoSendsOtherBytesIsNamed) {
  PairRanks all(2, 4, 2);
  std::vector<std::byte> in(100'000), out(100'000);
  const PeerTransfer sends{1, true, in.data(), 100}, receives{0, false, out.data(), 100'000};
  all.start(0, {&sends, 1});
  all.start(1, {&receives, 1});
  while (__atomic_load_n(&all.note(1).foreign, __ATOMIC_ACQUIRE) == 0) std::this_thread::yield();
  EXPECT_EQ(all.note(1).foreign, 1u);
  EXPECT_EQ(all.note(1).tag, pair_tag(100));
  EXPECT_EQ(all.note(1).expected, pair_tag(100'000));
  all.abort();  // other rings wait
  all.join();
}

TEST(GpuPairs, BlocksSayWhomTheyWaitForUntilTheyAreAborted) {
  PairRanks all(3, 1, 1);
  std::vector<std::byte> bytes(3 * kSlotBytes);
  const PeerTransfer pairs[] = {{1, true, bytes.data(), bytes.size()}, {2, false, bytes.data(), 8}};
  all.start(0, pairs);
  while (__atomic_load_n(&all.note(0).waiting, __ATOMIC_RELAXED) == 0) std::this_thread::yield();
  all.abort();
  all.join();
  EXPECT_EQ(all.note(0).waiting, 3u) << "rather the one whose message is missing";
}

TEST(GpuPairs, MessagesAreCutByTheirBytesAlone) {
  EXPECT_EQ(cut_pair(nullptr, 0, {16, 4096}).rings, 1u);
  EXPECT_EQ(cut_pair(nullptr, 32'000, {16, 4096}).rings, 1u);
  EXPECT_EQ(cut_pair(nullptr, 64 << 10, {16, 4096}).rings, 4u);
  EXPECT_EQ(cut_pair(nullptr, 64 << 10, {16, 4096}).piece, 4096u);
  EXPECT_EQ(cut_pair(nullptr, 64 << 10, {16, 1 << 20}).piece, 16u << 10);
  EXPECT_EQ(cut_pair(nullptr, 1 << 30, {5, 4096}).rings, 5u);
  const PeerTransfer pairs[] = {{1, true, nullptr, 9}, {0, false, nullptr, 8}, {1, true, nullptr, 100'000}};
  const PairTable table = pair_table(pairs, {4, 4096});
  EXPECT_EQ(table.directions, 2u);
  EXPECT_EQ(table.rings, 4u);
  EXPECT_EQ(table.piece, 4096u);
  EXPECT_EQ(table.bytes.size(), 2 * sizeof(PairDirection) + 3 * sizeof(PairMessage));
}

}  // namespace
}  // namespace weir::exec::gpu
