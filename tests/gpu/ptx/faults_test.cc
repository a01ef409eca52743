// SPDX-License-Identifier: Apache-2.0
// Kernels into whose text a fault was planted (faults.py): a race, a wrong result or a crash has to show it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "tests/gpu/ptx/run_cases.h"
#include "tests/gpu/ptx/transfer_cases.h"

namespace weir::exec::gpu {
namespace {

const char* path = nullptr;

/// The child found nothing (0), or still waits.
bool found(int status) {
  const bool hangs = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
  return status != 0 && !hangs;
}

/// A fault shows itself in every tenth seed or more often, so this many always suffice.
constexpr uint64_t kMostSeeds = 400;

/// Runs cases with several seeds until something is found. Ends the process.
template <typename Run>
[[noreturn]] void try_seeds(const char* library_path, Run&& run, uint64_t most_seeds = kMostSeeds) {
  path = library_path;
  alarm(100);
  for (uint64_t seed = 1; seed <= most_seeds; ++seed)
    if (const std::string wrong = run(seed); !wrong.empty()) {
      fmt::print(stderr, "seed {}: {}\n", seed, wrong);
      _exit(4);
    }
  _exit(0);
}

std::string run_pairs(uint64_t seed) {
  library().set({32, 4, seed, 4, true});
  PairRanks all(2, 2, 2);
  return exchange(all, 2, 12, true, static_cast<uint32_t>(seed), 9000);
}

class PtxFaults : public ::testing::TestWithParam<const char*> {};

TEST_P(PtxFaults, InPairsAreFound) {
  const std::string library_path = std::string(WEIR_PTX_FAULTS "/libptx_weir_pairs_") + GetParam() + ".so";
  EXPECT_EXIT(try_seeds(library_path.c_str(), run_pairs), found, "");
}
INSTANTIATE_TEST_SUITE_P(Planted, PtxFaults,
                         ::testing::Values("relaxed_release", "relaxed_acquire", "no_first_barrier",
                                           "no_second_barrier"),
                         [](const auto& info) { return std::string(info.param); });

TEST(PtxFaultless, KernelsPassTheSameCases) {
  EXPECT_EXIT(try_seeds(WEIR_PTX_KERNELS, run_pairs, 20), ::testing::ExitedWithCode(0), "");
}

TEST(PtxFaultsOfLanes, APacketWhoseFlagIsFirstIsFound) {
  const auto run = [](uint64_t seed) {
    return run_case({"one_shot", Collective::all_reduce, 3, RingProtocol::packet, 16, seed, 300}, true);
  };
  EXPECT_EXIT(try_seeds(WEIR_PTX_FAULTS "/libptx_weir_lanes_packet_flag_first.so", run), found,
              "another result");
}

TEST(PtxFaultsOfLanes, ARingWithoutTheBarrierBehindItsBytesIsFound) {
  const auto run = [](uint64_t seed) {
    return run_case({"ring", Collective::all_reduce, 2, RingProtocol::bandwidth, 16, seed, 700}, true);
  };
  EXPECT_EXIT(try_seeds(WEIR_PTX_FAULTS "/libptx_weir_lanes_bandwidth_no_second_barrier.so", run), found, "");
}

std::string run_move(uint64_t seed) {
  static const ptx::KernelLibrary host(WEIR_HOST_KERNELS);
  return run_move_case(library(), host, {DataType::float32, RedOp::sum, 1003, 2, 1, 3, 16}, seed, true);
}

TEST(PtxFaultsOfMoves, ABlockThatTakesTheWorkOfTheFirstIsFound) {
  EXPECT_EXIT(try_seeds(WEIR_PTX_FAULTS "/libptx_weir_transfer_first_block.so", run_move), found, "");
  EXPECT_EXIT(try_seeds(WEIR_PTX_KERNELS, run_move, 20), ::testing::ExitedWithCode(0), "");
}

}  // namespace

const ptx::KernelLibrary& library() {
  static const ptx::KernelLibrary library(path);
  return library;
}
HostKernel host_kernel(RingProtocol protocol) {
  return library().find<HostKernel>(protocol == RingProtocol::packet ? "weir_lanes_packet"
                                                                     : "weir_lanes_bandwidth");
}
HostPairsKernel pairs_kernel() { return library().find<HostPairsKernel>("weir_pairs"); }

}  // namespace weir::exec::gpu
