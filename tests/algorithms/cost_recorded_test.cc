// SPDX-License-Identifier: Apache-2.0
// Tables of a machine that was recorded: its processors as hwloc says them, its rates as a calibration kept
// them (tests/topology/machines/README.md).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "algorithms/cost/table.h"
#include "topology/formats/any.h"
#include "topology/formats/cpu_set.h"

namespace weir::cost {
namespace {

std::string text_of_machine(const std::string& file) {
  std::ifstream stream(WEIR_SOURCE_DIR "/tests/topology/machines/" + file);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

/// Logical processors of all NUMA nodes.
int cores_of(const std::string& file) {
  topology::Notes notes;
  const auto graph = topology::read_any({file, text_of_machine(file)}, &notes);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  int cores = 0;
  for (const topology::Index node : graph->all(topology::NodeKind::numa)) {
    topology::CpuSet cpus;
    EXPECT_TRUE(topology::CpuSet::parse_words(graph->get<topology::NumaFacts>(node)->affinity, cpus));
    for (int number = 0; number < 64; ++number) {
      topology::CpuSet one;
      EXPECT_TRUE(topology::CpuSet::parse_list(fmt::format("{}", number), one));
      cores += cpus.intersects(one) ? 1 : 0;
    }
  }
  return cores;
}

struct Recorded {
  const char* transport;
  int ranks;
  Collective kind;
  const char* rows;  ///< "1 one_shot, 16384 ring": the least size of each row, and what is taken
  double of_least;   ///< a large size takes at most so many times what its bytes need
};

std::string rows_of(const CostTable& table) {
  std::string text;
  size_t next = 1;
  for (const Row& row : table.rows()) {
    EXPECT_EQ(row.least, next);
    next = row.most + 1;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", row.least, row.at_least.best.entry->algorithm);
  }
  return text;
}

/// The work of all bytes, over all cores: each rank's contribution comes to all others once (all-gather), or
/// is summed and spread; sums, or the copies of own blocks.
double least_seconds(Collective kind, int ranks, int cores, const Rates& rates, double bytes) {
  const double others = ranks - 1;
  const bool sums = kind == Collective::all_reduce;
  const double moved = sums ? 2 * others : others * ranks;
  const double folded = sums ? others : ranks;
  return bytes * (moved * rates.inside.beta + folded * rates.gamma) / cores;
}

TEST(RecordedMachine, ChoosesWithTheRatesThatWereMeasuredThere) {
  using enum Collective;
  const Recorded kRecorded[] = {
      {"shm", 2, all_reduce, "1 one_shot, 16384 ring, 262144 double_tree", 1.02},
      {"shm", 2, all_gather, "1 ring", 1.02},
      {"shm", 4, all_reduce,
       "1 one_shot, 16384 tree4, 32768 two_shot, 131072 halving_doubling, 262144 double_tree", 1.02},
      {"shm", 4, all_gather, "1 one_shot", 1.02},
      {"tcp", 2, all_reduce, "1 one_shot, 262144 double_tree", 1.2},
      {"tcp", 2, all_gather, "1 ring", 1.2},
      {"tcp", 4, all_reduce, "1 tree4, 65536 double_tree, 262144 ring, 524288 double_tree", 1.3},
      {"tcp", 4, all_gather, "1 pat, 16384 halving_doubling, 65536 ring, 131072 one_shot", 1.3},
  };
  const int cores = cores_of("vm_2_cores.hwloc.xml");
  EXPECT_EQ(cores, 2);
  for (const auto& [transport, ranks, kind, expected, of_least] : kRecorded) {
    const std::string what = fmt::format("{} over {} ranks, {}", name(kind), ranks, transport);
    const auto rates =
        read_rates(text_of_machine(fmt::format("vm_2_cores_{}_{}.rates", transport, ranks)), {});
    ASSERT_TRUE(rates.ok()) << rates.status().message();
    Environment around = regular(ranks, ranks, cores, *rates);
    around.scratch_bytes = std::string_view(transport) == "shm" ? size_t{1} << 20 : 0;
    const CostTable table(kind, around);
    EXPECT_EQ(rows_of(table), expected) << what;
    // A byte has to arrive, and all can send to all: that work over the cores, and one rank's part of it.
    const ChannelRates& channel = rates->inside;
    const double all_to_all = ranks * (ranks - 1) * channel.overhead / cores;
    const double least = table.at(1).best.seconds;
    EXPECT_GE(least, channel.alpha) << what;
    EXPECT_LE(least, all_to_all + channel.alpha + (ranks - 1) * channel.overhead) << what;
    const double bytes = 1 << 30;
    const double needed = least_seconds(kind, ranks, cores, *rates, bytes);
    EXPECT_GE(table.at(1 << 30).best.seconds, needed) << what;
    EXPECT_LE(table.at(1 << 30).best.seconds, of_least * needed) << what;
  }
}

}  // namespace
}  // namespace weir::cost
