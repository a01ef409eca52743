// SPDX-License-Identifier: Apache-2.0
/// The kernels, run on the host, against Run: the same programs, the same bits.
#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>

#include "algorithms/catalogue/direct.h"
#include "tests/exec/gpu_operation.h"
#include "tests/exec/gpu_ranks.h"

namespace weir::exec::gpu {

HostKernel host_kernel(RingProtocol protocol) {
  static void* const library = dlopen(WEIR_HOST_KERNELS, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  return reinterpret_cast<HostKernel>(
      dlsym(library, protocol == RingProtocol::packet ? "weir_lanes_packet" : "weir_lanes_bandwidth"));
}

namespace {

#if defined(__SANITIZE_THREAD__)
constexpr int kRanks[] = {1, 3};
#else
constexpr int kRanks[] = {1, 2, 3, 5, 8};
#endif

void run_both(const std::vector<Program>& programs, GpuRanks& ranks, const Work& work, size_t shift,
              const std::string& what) {
  const auto seed = static_cast<uint32_t>(work.count + programs.size());
  Operation want(programs[0].shape, work, shift, seed);
  Operation got(programs[0].shape, work, shift, seed);
  run_on_host(programs, want);
  if (::testing::Test::HasFatalFailure()) return;
  ranks.run(got.works);
  for (size_t rank = 0; rank < programs.size(); ++rank) {
    ASSERT_EQ(got.output[rank].words, want.output[rank].words) << what << " rank " << rank;
  }
}

std::vector<Program> programs_of(const algorithms::Entry& entry, int ranks, bool* ordered) {
  const ir::Plan plan = plan_of(entry, ranks);
  *ordered = orders_memory(plan);
  return lower_all(plan);
}

/// Every entry of the catalogue; types, operations, counts and shards alternate.
void run_catalogue(RingProtocol protocol) {
  constexpr size_t kCounts[] = {1, 7, 100, 1003, 5000};
  uint32_t turn = 0;
  for (const algorithms::Entry& entry : algorithms::catalogue()) {
    for (const int ranks : kRanks) {
      RingOptions options;
      options.protocol = protocol;
      const std::vector<Program> programs = programs_of(entry, ranks, &options.ordered);
      options.shards = 1 + turn % 2;
      GpuRanks gpus(programs, options);
      for (int round = 0; round < 2; ++round, ++turn) {
        Work work;
        work.count = kCounts[turn % std::size(kCounts)];
        work.type = static_cast<DataType>(turn * 7 % kDataTypes);
        work.op = static_cast<RedOp>(turn % 4);
        work.tag = (uint64_t{turn} << 32) + 5;
        if (turn % 3 == 0) work.tile_bytes = 128;
        run_both(programs, gpus, work, 0, fmt::format("{} turn {}", label(entry, ranks), turn));
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(GpuLane, EveryAlgorithmGivesTheBitsOfRun) { run_catalogue(RingProtocol::bandwidth); }
TEST(GpuLane, EveryAlgorithmGivesTheBitsOfRunInPackets) { run_catalogue(RingProtocol::packet); }

/// Every type and operation, aligned and not, averages and scaled input.
void run_types(RingProtocol protocol) {
  bool ordered = false;
  const auto programs = programs_of(*algorithms::find("ring", Collective::all_reduce), 3, &ordered);
  RingOptions options;
  options.protocol = protocol;
  options.ordered = ordered;
  GpuRanks gpus(programs, options);
  for (int kind = 0; kind < kDataTypes; ++kind) {
    for (int op = 0; op < 4; ++op) {
      for (const bool scales : {false, true}) {
        Work work;
        work.type = static_cast<DataType>(kind);
        work.op = static_cast<RedOp>(op);
        work.count = 333;
        work.scales = scales;
        if (is_float(work.type)) work.factor = device::ratio(work.type, 1, 3);
        if (!is_float(work.type)) work.factor.bits[0] = 3;
        if (!is_float(work.type)) work.divisor = 3;
        for (const size_t shift : {size_t{0}, size_of(work.type)}) {
          run_both(programs, gpus, work, shift,
                   fmt::format("{} {} scaled {} shift {}", name(work.type), name(work.op), scales, shift));
          if (::testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(GpuLane, AllTypesAndOperations) { run_types(RingProtocol::bandwidth); }
TEST(GpuLane, AllTypesAndOperationsInPackets) { run_types(RingProtocol::packet); }

TEST(GpuLane, PassesAreDealtOutToShards) {
  bool ordered = false;
  const auto programs = programs_of(*algorithms::find("ring", Collective::all_reduce), 4, &ordered);
  for (const RingProtocol protocol : {RingProtocol::bandwidth, RingProtocol::packet}) {
    for (const uint32_t shards : {1u, 2u, 3u, 5u}) {
      RingOptions options;
      options.protocol = protocol;
      options.ordered = ordered;
      options.shards = shards;
      GpuRanks gpus(programs, options);
      Work work;
      work.count = 4001;
      work.type = DataType::bfloat16;
      work.tile_bytes = 256;
      run_both(programs, gpus, work, 0, fmt::format("{} shards", shards));
      if (HasFatalFailure()) return;
    }
  }
}

/// Ranks that use each other's buffers, against ranks that use channels: whole numbers, whose sums do not
/// depend on the order.
TEST(GpuLane, RanksReadAndWriteEachOthersBuffers) {
  uint32_t turn = 0;
  for (const algorithms::Entry& entry : algorithms::catalogue()) {
    if (entry.algorithm != "one_shot") continue;
    for (const int ranks : kRanks) {
      if (ranks == 1) continue;
      const ir::Plan plan = plan_of(entry, ranks);
      const auto in_channels = lower_all(plan);
      const auto programs = lower_all(algorithms::direct(entry.kind, ranks, plan.shape.root), Peers::buffers);
      RingOptions options;
      options.direct = true;
      options.shards = 1 + turn % 3;
      GpuRanks gpus(programs, options);
      for (const size_t count : {size_t{3}, size_t{4099}}) {  // the second call uses other memory
        Work work;
        work.count = count;
        work.type = DataType::uint32;
        work.tag = (uint64_t{++turn} << 32) + 5;
        work.tile_bytes = 1024;
        work.divisor = reduces(entry.kind) ? 1 + turn % 2 : 1;
        Operation want(plan.shape, work, 0, turn);
        Operation got(plan.shape, work, 0, turn);
        run_on_host(in_channels, want);
        gpus.run(got.works);
        for (size_t rank = 0; rank < programs.size(); ++rank)
          ASSERT_EQ(got.output[rank].words, want.output[rank].words)
              << label(entry, ranks) << " rank " << rank << " count " << count;
      }
    }
  }
}

/// Flags are the low half of a message's number. Rings that have carried nearly 2^30 or 2^32 messages still
/// work.
TEST(GpuLane, FlagsComeRound) {
  bool ordered = false;
  const auto programs = programs_of(*algorithms::find("ring", Collective::all_gather), 3, &ordered);
  for (const uint64_t before : {(uint64_t{1} << 30) - 5, (uint64_t{1} << 32) - 5}) {
    RingOptions options;
    options.protocol = RingProtocol::packet;
    options.ordered = ordered;
    options.before = before;
    GpuRanks gpus(programs, options);
    for (int operation = 0; operation < 6; ++operation) {
      Work work;
      work.count = 9;
      run_both(programs, gpus, work, 0, fmt::format("after {} messages", before));
      if (HasFatalFailure()) return;
    }
    if (before >> 32 != 0 || before > uint64_t{1} << 30) continue;
    for (const auto& [key, ring] : gpus.rings()) {
      const auto* const words = reinterpret_cast<const uint64_t*>(ring->slots());
      for (size_t i = 0; i < ring->count * ring->stride / 8; ++i) {
        ASSERT_NE(words[i] >> 32, 0u) << "word " << i << " was not written anew";
      }
    }
  }
}

TEST(GpuLane, LeavesWhenAborted) {
  bool ordered = false;
  const auto programs = programs_of(*algorithms::find("ring", Collective::all_reduce), 2, &ordered);
  for (const RingProtocol protocol : {RingProtocol::bandwidth, RingProtocol::packet}) {
    RingOptions options;
    options.protocol = protocol;
    options.ordered = ordered;
    GpuRanks gpus(programs, options);
    Work work;
    work.count = 64;
    Operation operation(programs[0].shape, work, 0, 1);
    ASSERT_TRUE(set_work(gpus.launch(0), programs[0], operation.works[0], gpus.tile_bytes()).ok());
    gpus.start(0);  // rank 1 is not started
    uint64_t waiting = 0;
    while ((waiting = __atomic_load_n(&gpus.note(0, 0).waiting, __ATOMIC_RELAXED)) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(waiting, 1u + 1) << "it waits for rank 1";
    gpus.abort();
    gpus.join();
  }
}

TEST(GpuLane, RefusesAMessageOfAnotherOperation) {
  bool ordered = false;
  const auto programs = programs_of(*algorithms::find("ring", Collective::broadcast), 2, &ordered);
  for (const RingProtocol protocol : {RingProtocol::bandwidth, RingProtocol::packet}) {
    RingOptions options;
    options.protocol = protocol;
    options.ordered = ordered;
    GpuRanks gpus(programs, options);
    Work work;
    work.count = 2;
    Operation operation(programs[0].shape, work, 0, 1);
    operation.works[0].tag = uint64_t{5} << 32 | 9;
    operation.works[1].tag = uint64_t{6} << 32 | 9;
    gpus.run(operation.works);
    const bool root_is_0 = programs[0].channels[0].outgoing;
    const Note& note = gpus.note(root_is_0 ? 1 : 0, 0);
    EXPECT_EQ(note.foreign, root_is_0 ? 1u : 2u) << "1 + the root";
    EXPECT_EQ(note.tag >> 32, root_is_0 ? 5u : 6u);
  }
}

}  // namespace
}  // namespace weir::exec::gpu
