// SPDX-License-Identifier: Apache-2.0
// build/bench/gpu_counts: what the compiled kernels execute, counted on the machine of machine.h, as a table.
// Counts of one execution in a random order of threads, without a GPU: they say how much work there is, not
// how long it takes, and polls depend on the order.
#include "tests/gpu/ptx/run_cases.h"
#include "tests/gpu/ptx/transfer_cases.h"

namespace weir::exec::gpu {

const ptx::KernelLibrary& library() {
  static const ptx::KernelLibrary library(WEIR_PTX_KERNELS);
  return library;
}
HostKernel host_kernel(RingProtocol protocol) {
  return library().find<HostKernel>(protocol == RingProtocol::packet ? "weir_lanes_packet"
                                                                     : "weir_lanes_bandwidth");
}
HostPairsKernel pairs_kernel() { return library().find<HostPairsKernel>("weir_pairs"); }

namespace {

constexpr uint32_t kThreads = 64;

/// One line: what first threads did per message, and what all threads did per KiB of the ranks' data.
void print(const char* name, int ranks, DataType type, uint64_t messages, size_t bytes) {
  const ptx::Report report = library().take();
  const ptx::Counts& leaders = report.leaders;
  const double per_message = messages > 0 ? 1.0 / static_cast<double>(messages) : 0;
  const double per_kib = 1024.0 / static_cast<double>(bytes);
  fmt::print(
      "{:<24}{:>6}{:>10} |{:>9.0f}{:>8.1f}{:>8.1f}{:>8.1f}{:>8.1f}{:>8.1f} |{:>9.0f}{:>8.1f}{:>8.1f}\n", name,
      ranks, weir::name(type), static_cast<double>(leaders.instructions) * per_message,
      static_cast<double>(leaders.loads) * per_message, static_cast<double>(leaders.acquires) * per_message,
      static_cast<double>(leaders.releases) * per_message, static_cast<double>(leaders.fences) * per_message,
      static_cast<double>(leaders.barriers) * per_message,
      static_cast<double>(leaders.instructions + report.others.instructions) * per_kib,
      static_cast<double>(leaders.loads + report.others.loads) * per_kib,
      static_cast<double>(leaders.stores + report.others.stores) * per_kib);
}

int count_collectives() {
  constexpr size_t kElements = 24'000;
  for (const DataType type : {DataType::float32, DataType::bfloat16})
    for (const int ranks : {2, 4})
      for (const auto& [algorithm, protocol] :
           {std::pair("ring", RingProtocol::bandwidth), std::pair("one_shot", RingProtocol::bandwidth),
            std::pair("one_shot", RingProtocol::packet)}) {
        const Case one{algorithm, Collective::all_reduce, ranks, protocol, kThreads, 1, kElements, 1, type};
        uint64_t messages = 0;
        if (const std::string wrong = run_case(one, false, &messages); !wrong.empty())
          return fmt::print(stderr, "gpu_counts: {}\n", wrong), 1;
        const std::string name =
            fmt::format("{}, {}", algorithm, protocol == RingProtocol::packet ? "packets" : "slots");
        print(name.c_str(), ranks, type, messages,
              kRounds * kElements * size_of(type) * static_cast<size_t>(ranks));
      }
  return 0;
}

int count_moves() {
  constexpr uint32_t kElements = 24'000;
  const ptx::KernelLibrary host(WEIR_HOST_KERNELS);
  for (const DataType type : {DataType::float32, DataType::float16, DataType::bfloat16}) {
    const MoveCase one{type, RedOp::sum, kElements, 2, 1, 1, kThreads};
    if (const std::string wrong = run_move_case(library(), host, one, 1); !wrong.empty())
      return fmt::print(stderr, "gpu_counts: {}\n", wrong), 1;
    print("a move of two sources", 1, type, 0, kElements * size_of(type));
  }
  return 0;
}

}  // namespace
}  // namespace weir::exec::gpu

int main() {
  fmt::print("{:<24}{:>6}{:>10} |{:^49} |{:^25}\n", "all-reduce", "ranks", "type",
             "first threads, per message", "all threads, per KiB");
  fmt::print("{:<40} |{:>9}{:>8}{:>8}{:>8}{:>8}{:>8} |{:>9}{:>8}{:>8}\n", "", "instr.", "loads", "acquire",
             "release", "fence", "barrier", "instr.", "loads", "stores");
  if (const int code = weir::exec::gpu::count_collectives(); code != 0) return code;
  return weir::exec::gpu::count_moves();
}
