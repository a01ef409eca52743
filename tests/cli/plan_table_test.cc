// SPDX-License-Identifier: Apache-2.0
// weir plan --table on kinds of machines (tests/topology/machines): what is taken by size, and what the ends
// of the table have to be, from the messages of an algorithm and from the links of the machine.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/command.h"

namespace weir::cli {
namespace {

constexpr double kAlpha = 2e-6;  // of a message, as --latency says

struct Row {
  double bytes = 0;
  std::string plan;
  double gb_per_s = 0;  ///< algbw
};

/// Rows of sizes from 1 KiB on, four times as large each.
std::vector<Row> table_of(const std::string& machine, const std::string& collective) {
  const weir::testing::CommandResult result = weir::testing::run_command(fmt::format(
      "{} plan {}/{} --collective {} --table --latency 0,message={} --slot-bytes 512K 2>/dev/null",
      WEIR_PROGRAM, WEIR_MACHINES, machine, collective, kAlpha * 1e6));
  EXPECT_EQ(result.code, 0) << machine;
  std::istringstream lines(result.text);
  std::string line;
  std::getline(lines, line);  // the head
  std::vector<Row> rows;
  for (double bytes = 1024; std::getline(lines, line); bytes *= 4) {
    std::istringstream words(line);
    Row row{bytes, "", 0};
    double figure = 0;
    std::string unit;
    words >> figure >> unit >> row.plan >> figure >> unit >> row.gb_per_s;
    EXPECT_TRUE(words) << line;
    rows.push_back(row);
  }
  EXPECT_EQ(rows.size(), 12u) << result.text;
  return rows;
}

/// "1K recursive_doubling, 1M planned": from which of the sizes on what is taken.
std::string choices(const std::vector<Row>& rows) {
  std::string text;
  const std::string* last = nullptr;
  for (const Row& row : rows) {
    if (last != nullptr && *last == row.plan) continue;
    last = &row.plan;
    const double kib = row.bytes / 1024;
    const std::string size = kib < 1024 ? fmt::format("{}K", kib) : fmt::format("{}M", kib / 1024);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", size, row.plan);
  }
  return text;
}

struct Machine {
  const char* file;
  const char* collective;
  const char* choices;
  int messages;     ///< one after the other, of what is taken for 1 KiB
  double gb_per_s;  ///< algbw that the narrowest cut allows
  double reached = 0.97;
};

// Messages over 8 ranks: log2 8, of recursive_doubling for all-reduce, of pat for all-gather; over 6 of the
// former log2 4, and one before and after; of the tree plan: its hops. The NVLinks or xGMI into a GPU have to
// bring 7/8 of all bytes, and for all-reduce as much again. The rings of the MI50 and the A40 below two
// processors hang together by one link between these.
const Machine kMachines[] = {
    {"dgx1v.xml", "allgather", "1K pat, 1M ring_set, 256M planned", 3, 6 * 25 * 8 / 7.0},
    {"dgx_a100.xml", "allreduce", "1K recursive_doubling, 1M halving_doubling, 4M planned", 3,
     12 * 25 * 8 / 7.0 / 2},
    {"mi250x_8.xml", "allgather", "1K pat, 1M planned, 4M ring_set, 16M planned", 3, 6 * 50 * 8 / 7.0, 0.89},
    {"mi300x.xml", "allreduce", "1K recursive_doubling, 256K planned", 3, 7 * 64 * 8 / 7.0 / 2},
    {"mi300x.xml", "allgather", "1K pat, 1M planned", 3, 7 * 64 * 8 / 7.0},
    {"mi50_rings.xml", "allgather", "1K pat, 64K planned", 3, 2 * 10},
    {"pcie_gpus.hwloc.xml", "allreduce", "1K recursive_doubling, 256K ring, 16M planned", 4, 16},
};

class PlanTable : public ::testing::TestWithParam<Machine> {};

TEST_P(PlanTable, IsThatOfTheMachine) {
  const Machine& machine = GetParam();
  const std::vector<Row> rows = table_of(machine.file, machine.collective);
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(choices(rows), machine.choices);
  const double least = rows.front().bytes / rows.front().gb_per_s / 1e9;
  EXPECT_GE(least, machine.messages * kAlpha * 0.999);
  EXPECT_LE(least, machine.messages * kAlpha * 1.06) << "1 KiB hardly takes time";
  EXPECT_LE(rows.back().gb_per_s, machine.gb_per_s * 1.001) << "nothing can be faster";
  EXPECT_GE(rows.back().gb_per_s, machine.gb_per_s * machine.reached) << "4 GiB";
  for (size_t i = 1; i < rows.size(); ++i)
    EXPECT_GE(rows[i].bytes / rows[i].gb_per_s, rows[i - 1].bytes / rows[i - 1].gb_per_s);
}

INSTANTIATE_TEST_SUITE_P(Kinds, PlanTable, ::testing::ValuesIn(kMachines), [](const auto& each) {
  std::string name = std::string(each.param.file) + "_" + each.param.collective;
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace weir::cli
