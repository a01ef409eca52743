// SPDX-License-Identifier: Apache-2.0
// Sends and receives of many sizes between processes of a host, which read each other's memory: that of
// ncclMemAlloc by mapping it, other memory where the kernel lets them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <weir/dump.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory_resource>
#include <new>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "tests/base/limited_child.h"
#include "tests/library/processes.h"

namespace weir::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

/// Element i of transfer `number` that `rank` sends.
uint32_t value(int rank, int number, size_t i) {
  return static_cast<uint32_t>(rank) * 7919 + static_cast<uint32_t>(number) * 104729 +
         static_cast<uint32_t>(i);
}

/// Memory of ncclMemAlloc: each vector is an allocation of its own.
class Mappable final : public std::pmr::memory_resource {
  void* do_allocate(size_t bytes, size_t) override {
    void* memory = nullptr;
    if (ncclMemAlloc(&memory, std::max<size_t>(bytes, 1)) != ncclSuccess) throw std::bad_alloc();
    return memory;
  }
  void do_deallocate(void* memory, size_t, size_t) override { ncclMemFree(memory); }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

using Memory = std::pmr::memory_resource;
using Data = std::pmr::vector<uint32_t>;

Memory* ordinary() { return std::pmr::new_delete_resource(); }
Memory* mappable() {
  static Mappable memory;
  return &memory;
}

Data data_of(int rank, int number, size_t count, Memory* memory = ordinary()) {
  Data data(count, memory);
  for (size_t i = 0; i < count; ++i) data[i] = value(rank, number, i);
  return data;
}

/// Below, at and above what goes through slots; not whole pages; more than is read at a time.
const std::vector<size_t> kCounts = {1, 2'048, 4'099, 16'384, 70'001, 300'000, 1'000'003, 3};

/// All of them to the next rank in one group, and in another order back.
void pass_around_in(Memory* memory, const Rank& rank) {
  const int next = (rank.rank() + 1) % rank.ranks();
  const int before = (rank.rank() + rank.ranks() - 1) % rank.ranks();
  ncclComm_t comm = rank.connect();
  std::vector<Data> out, in;
  for (size_t k = 0; k < kCounts.size(); ++k) {
    out.push_back(data_of(rank.rank(), static_cast<int>(k), kCounts[k], memory));
    in.emplace_back(kCounts[k], memory);
  }
  for (int round = 0; round < 3; ++round) {
    for (auto& one : in) one.assign(one.size(), 0);
    ncclGroupStart();
    for (size_t k = 0; k < kCounts.size(); ++k) {
      expect_success(ncclSend(out[k].data(), out[k].size(), ncclUint32, next, comm, nullptr), "ncclSend");
      expect_success(ncclRecv(in[k].data(), in[k].size(), ncclUint32, before, comm, nullptr), "ncclRecv");
    }
    expect_success(ncclGroupEnd(), "ncclGroupEnd");
    for (size_t k = 0; k < kCounts.size(); ++k)
      EXPECT_EQ(in[k], data_of(before, static_cast<int>(k), kCounts[k])) << kCounts[k] << " elements";
  }
  ncclCommDestroy(comm);
}

void pass_around(const Rank& rank) { pass_around_in(ordinary(), rank); }

TEST(Transfers, OfAnySizeAreRight) { EXPECT_TRUE(all_well(run_ranks(3, pass_around))); }

TEST(Transfers, FromMemoryThatPeersMapAreRight) {
  EXPECT_TRUE(all_well(run_ranks(
      3, [](const Rank& rank) { pass_around_in(rank.rank() == 2 ? ordinary() : mappable(), rank); })));
}

TEST(Transfers, AreRightWhereOneRankMayNotReadOthers) {
  EXPECT_TRUE(all_well(run_ranks(3, [](const Rank& rank) {
    if (rank.rank() == 1) refuse_call(SYS_process_vm_readv);
    pass_around(rank);
  })));
}

/// Collectives that may use rendezvous, of many sizes, one after the other.
void copy_collectives_in(Memory* memory, const Rank& rank) {
  ncclComm_t comm = rank.connect();
  const auto ranks = static_cast<size_t>(rank.ranks());
  const auto self = static_cast<size_t>(rank.rank());
  for (const size_t count : kCounts) {
    for (int root = 0; root < rank.ranks(); ++root) {
      const Data all = data_of(root, 0, count * ranks, memory);
      const Data block(all.begin() + static_cast<ptrdiff_t>(self * count),
                       all.begin() + static_cast<ptrdiff_t>((self + 1) * count), memory);
      Data got(count, memory), whole(count * ranks, memory);
      expect_success(ncclScatter(all.data(), got.data(), count, ncclUint32, root, comm, nullptr),
                     "ncclScatter");
      EXPECT_EQ(got, block) << count;
      expect_success(ncclGather(block.data(), whole.data(), count, ncclUint32, root, comm, nullptr),
                     "ncclGather");
      if (rank.rank() != root) whole = all;
      EXPECT_EQ(whole, all) << count;
      whole.assign(whole.size(), 0);
      expect_success(ncclBroadcast(all.data(), whole.data(), whole.size(), ncclUint32, root, comm, nullptr),
                     "ncclBroadcast");
      EXPECT_EQ(whole, all) << count;
      whole.assign(whole.size(), 0);
      expect_success(ncclAllGather(block.data(), whole.data(), count, ncclUint32, comm, nullptr),
                     "ncclAllGather");
      EXPECT_EQ(whole, all) << count;
      expect_success(ncclAlltoAll(all.data(), whole.data(), count, ncclUint32, comm, nullptr),
                     "ncclAlltoAll");
      for (size_t peer = 0; peer < ranks; ++peer)
        EXPECT_TRUE(
            std::equal(block.begin(), block.end(), whole.begin() + static_cast<ptrdiff_t>(peer * count)));
    }
  }
  ncclCommDestroy(comm);
}

void copy_collectives(const Rank& rank) { copy_collectives_in(ordinary(), rank); }

/// The same in place, and reductions, whose buffers change while they run.
void in_place(const Rank& rank) {
  ncclComm_t comm = rank.connect();
  const auto ranks = static_cast<size_t>(rank.ranks());
  const auto self = static_cast<size_t>(rank.rank());
  for (const size_t count : {size_t{3}, size_t{5'000}, size_t{70'001}, size_t{300'000}}) {
    const Data all = data_of(7, 0, count * ranks);
    Data sums(all);
    for (uint32_t& sum : sums) sum *= static_cast<uint32_t>(ranks);
    Data buffer(count * ranks, mappable());
    uint32_t* const own = buffer.data() + self * count;
    const auto only_own = [&] {
      std::ranges::fill(buffer, 1);
      std::copy_n(all.data() + self * count, count, own);
    };
    for (int root = 0; root < rank.ranks(); ++root) {
      only_own();
      expect_success(ncclGather(own, buffer.data(), count, ncclUint32, root, comm, nullptr), "ncclGather");
      if (rank.rank() == root) {
        EXPECT_EQ(buffer, all) << count;
      }
      if (rank.rank() != root) std::ranges::fill(buffer, 2);
      expect_success(ncclScatter(buffer.data(), own, count, ncclUint32, root, comm, nullptr), "ncclScatter");
      EXPECT_TRUE(std::equal(own, own + count, all.data() + self * count)) << count;
      if (rank.rank() == root) buffer = all;
      expect_success(ncclBcast(buffer.data(), buffer.size(), ncclUint32, root, comm, nullptr), "ncclBcast");
      EXPECT_EQ(buffer, all) << count;
      expect_success(
          ncclReduce(buffer.data(), buffer.data(), buffer.size(), ncclUint32, ncclSum, root, comm, nullptr),
          "ncclReduce");
      EXPECT_EQ(buffer, rank.rank() == root ? sums : all) << count;
    }
    only_own();
    expect_success(ncclAllGather(own, buffer.data(), count, ncclUint32, comm, nullptr), "ncclAllGather");
    EXPECT_EQ(buffer, all) << count;
    expect_success(
        ncclAllReduce(buffer.data(), buffer.data(), buffer.size(), ncclUint32, ncclSum, comm, nullptr),
        "ncclAllReduce");
    EXPECT_EQ(buffer, sums) << count;
    expect_success(ncclReduceScatter(buffer.data(), own, count, ncclUint32, ncclSum, comm, nullptr),
                   "ncclReduceScatter");
    for (size_t i = 0; i < count; i += 997)
      EXPECT_EQ(own[i], all[self * count + i] * static_cast<uint32_t>(ranks * ranks)) << count;
  }
  ncclCommDestroy(comm);
}

TEST(Transfers, OfCollectivesInMemoryThatPeersMapAreRight) {
  for (const int ranks : {2, 3}) {
    EXPECT_TRUE(all_well(run_ranks(ranks, [](const Rank& rank) {
      copy_collectives_in(rank.rank() == 2 ? ordinary() : mappable(), rank);
    })));
  }
}

TEST(Transfers, OfCollectivesInPlaceAreRight) {
  for (const char* const area : {"0", "2097152"}) {  // without an exchange area plans do all collectives
    for (const int ranks : {2, 3}) {
      EXPECT_TRUE(all_well(run_ranks(ranks, [area](const Rank& rank) {
        setenv("WEIR_EXCHANGE_AREA_BYTES", area, 1);
        in_place(rank);
      })));
    }
  }
}

TEST(Transfers, OfCollectivesAreRight) {
  for (const int ranks : {2, 3}) EXPECT_TRUE(all_well(run_ranks(ranks, copy_collectives)));
}

TEST(Transfers, OfCollectivesAreRightWhereOneRankMayNotReadOthers) {
  for (const int ranks : {2, 3}) {
    EXPECT_TRUE(all_well(run_ranks(ranks, [](const Rank& rank) {
      if (rank.rank() == 1) refuse_call(SYS_process_vm_readv);
      copy_collectives(rank);
    })));
  }
}

TEST(Transfers, ASendThatFitsTheSlotsNeedNotBeReceivedFirst) {
  EXPECT_TRUE(all_well(run_ranks(2, [](const Rank& rank) {
    constexpr size_t kCount = 50'000;
    ncclComm_t comm = rank.connect();
    const auto out = data_of(rank.rank(), 0, kCount);
    Data in(kCount);
    ncclGroupStart();  // the first transfer waits for the peer in any case
    ncclSend(out.data(), kCount, ncclUint32, 1 - rank.rank(), comm, nullptr);
    ncclRecv(in.data(), kCount, ncclUint32, 1 - rank.rank(), comm, nullptr);
    expect_success(ncclGroupEnd(), "ncclGroupEnd");
    in.assign(kCount, 0);
    expect_success(ncclSend(out.data(), kCount, ncclUint32, 1 - rank.rank(), comm, nullptr), "ncclSend");
    expect_success(ncclRecv(in.data(), kCount, ncclUint32, 1 - rank.rank(), comm, nullptr), "ncclRecv");
    EXPECT_EQ(in, data_of(1 - rank.rank(), 0, kCount));
    ncclCommDestroy(comm);
  })));
}

/// The numbers of bytes that the process has sent through channels, as a report shows them.
std::vector<uint64_t> bytes_sent() {
  const std::string path = "/tmp/weir-transfers-" + std::to_string(getpid());
  EXPECT_EQ(weirDump(path.c_str()), 0);
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  unlink(path.c_str());
  std::vector<uint64_t> found;
  const std::regex sent(R"_("end":\s*"send",\s*"transport":\s*"[a-z]+",\s*"bytes":\s*(\d+))_");
  for (std::sregex_iterator one(text.begin(), text.end(), sent), end; one != end; ++one)
    found.push_back(std::stoull((*one)[1]));
  return found;
}

TEST(Transfers, AreCountedWhereverTheDataAre) {
  EXPECT_TRUE(all_well(run_ranks(2, [](const Rank& rank) {
    constexpr size_t kCount = 250'000;
    ncclComm_t comm = rank.connect();
    std::vector<uint32_t> out(kCount), in(kCount);
    ncclGroupStart();
    ncclSend(out.data(), kCount, ncclUint32, 1 - rank.rank(), comm, nullptr);
    ncclRecv(in.data(), kCount, ncclUint32, 1 - rank.rank(), comm, nullptr);
    expect_success(ncclGroupEnd(), "ncclGroupEnd");
    EXPECT_THAT(bytes_sent(), Contains(4 * kCount));
    ncclCommDestroy(comm);
  })));
}

TEST(Transfers, OtherSizesAtTheTwoEndsAreAnError) {
  const auto endings = run_ranks(2, [](const Rank& rank) {
    ncclComm_t comm = rank.connect();
    std::vector<uint32_t> out(100'000), in(100'000);
    const size_t receives = rank.rank() == 0 ? 100'000 : 60'000;
    ncclGroupStart();
    ncclSend(out.data(), out.size(), ncclUint32, 1 - rank.rank(), comm, nullptr);
    ncclRecv(in.data(), receives, ncclUint32, 1 - rank.rank(), comm, nullptr);
    const ncclResult_t result = ncclGroupEnd();
    fprintf(stderr, "%d %s\n", result, ncclGetLastError(comm));
    ncclCommAbort(comm);
  });
  EXPECT_THAT(endings[1].output, HasSubstr("differs in size from the matching receive of 240000 bytes"));
}

TEST(Transfers, AKilledSenderIsNamed) {
  const auto endings = run_ranks(2, [](const Rank& rank) {
    constexpr size_t kCount = 8 << 20;
    ncclComm_t comm = rank.connect();
    std::vector<uint32_t> out(kCount), in(kCount);
    std::thread killer;
    if (rank.rank() == 0) {
      killer = std::thread([&] {
        rank.wait_until_reached(1, 1);
        kill(getpid(), SIGKILL);
      });
    }
    ncclResult_t result = ncclSuccess;
    for (int i = 0; result == ncclSuccess; ++i) {
      ncclGroupStart();
      ncclSend(out.data(), kCount, ncclUint32, 1 - rank.rank(), comm, nullptr);
      ncclRecv(in.data(), kCount, ncclUint32, 1 - rank.rank(), comm, nullptr);
      result = ncclGroupEnd();
      if (i == 2) rank.reach(1);
    }
    fprintf(stderr, "%d %s\n", result, ncclGetLastError(comm));
    ncclCommAbort(comm);
    if (killer.joinable()) killer.join();
  });
  EXPECT_EQ(endings[0].code, -SIGKILL) << endings[0].output;
  EXPECT_EQ(endings[1].code, 0) << endings[1].output;
  EXPECT_THAT(endings[1].output, HasSubstr("6 "));
  EXPECT_THAT(endings[1].output, HasSubstr("rank 0 (pid"));
}

}  // namespace
}  // namespace weir::testing
