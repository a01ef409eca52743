// SPDX-License-Identifier: Apache-2.0
// weir plan --compare: our figures are those of weir plan, and each figure of others has its source.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "src/cli/published_rates.h"
#include "tests/cli/weir_command.h"

namespace weir::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using weir::testing::weir_command;

TEST(Comparison, OursIsWhatWeirPlanSays) {
  int compared = 0;
  const auto rows = nlohmann::json::parse(weir_command("plan --compare --json").text);
  EXPECT_GE(rows.size(), 10u);
  for (const nlohmann::json& row : rows) {
    SCOPED_TRACE(row["machine"].get<std::string>());
    EXPECT_GT(row["bound_GBps"], 0);
    EXPECT_LE(row["predicted_GBps"].get<double>(), row["bound_GBps"].get<double>() * (1 + 1e-9));
    if (row["kind"] == "none") {
      EXPECT_TRUE(row["published_GBps"].is_null());
      EXPECT_TRUE(row["ratio"].is_null());
    } else {
      EXPECT_DOUBLE_EQ(row["ratio"],
                       row["predicted_GBps"].get<double>() / row["published_GBps"].get<double>());
    }
    const std::string line = row["line"];
    // These take many seconds. Of the others some are simulated and some not, in algbw and in busbw.
    if (line.starts_with("2 ") || line.starts_with("12 ") || line.starts_with("20 ")) continue;
    const auto plan = nlohmann::json::parse(weir_command(fmt::format("plan '{}' --collective {} --json", line,
                                                                     row["collective"].get<std::string>()))
                                                .text);
    const bool bus = row["measure"] == "busbw";
    const double factor = bus ? plan["busbw_GBps"].get<double>() / plan["algbw_GBps"].get<double>() : 1;
    EXPECT_NEAR(row["predicted_GBps"], plan["algbw_GBps"].get<double>() * factor, 1e-9);
    EXPECT_NEAR(row["bound_GBps"], plan["bound_GBps"].get<double>() * factor, 1e-9);
    EXPECT_EQ(row["simulated"], plan["simulated"]);
    ++compared;
  }
  EXPECT_GE(compared, 6);
}

TEST(Comparison, TheTableBeginsBeforeAllIsPlanned) {
  EXPECT_EQ(weir_command("plan --compare | head -n 1").text, rates_title());
}

/// With made-up figures of ours: to plan all machines takes most of a minute, and the test above does so.
std::string table() {
  std::string text = rates_title();
  for (const PublishedRate& figure : published_rates()) text += rates_line({figure, 400, 123.456, true});
  return text + rates_notes();
}

TEST(Comparison, ARowHasBothFiguresAndTheirRatio) {
  for (const PublishedRate& figure : published_rates()) {
    const std::string line = rates_line({figure, 400, 123.456, true});
    EXPECT_THAT(line, HasSubstr(figure.bus ? "busbw" : "algbw"));
    EXPECT_THAT(line, HasSubstr("     400      123.5"));
    if (figure.kind == RateKind::none)
      EXPECT_THAT(line, HasSubstr("          -  -  "));
    else
      EXPECT_THAT(line, AllOf(HasSubstr(fmt::format("{:.5g}  {} ", figure.gb_per_s, name(figure.kind))),
                              HasSubstr(fmt::format("{:.2f}  [", 123.456 / figure.gb_per_s))));
  }
}

TEST(Comparison, EachFigureHasItsSource) {
  const std::string text = table();
  for (const char* machine :
       {"2 hosts of 16 dies of MI250", "20 DGX A100", "64 hosts of 8 H800", "A800", "2,048 dies of Frontier"})
    EXPECT_THAT(text, HasSubstr(machine));
  std::istringstream lines(text.substr(text.find("Sources:\n") + 9));
  int sources = 0;
  for (std::string line; std::getline(lines, line) && line.starts_with("  ["); ++sources)
    EXPECT_THAT(line, ::testing::ContainsRegex("\\(.*20[0-9][0-9]"));
  EXPECT_GE(sources, 8);
  EXPECT_THAT(text, Not(HasSubstr(fmt::format("[{}]", sources + 1)))) << "a source is missing";
  EXPECT_THAT(text,
              AllOf(HasSubstr("no figure in GB/s was found"), HasSubstr("ratio = predicted / published")));
}

TEST(Comparison, TakesNoTaskOfItsOwn) {
  for (const char* more : {"'(4 gpu mesh 100)'", "--collective allgather", "--emit plan", "--table"}) {
    const auto result = weir_command(std::string("plan --compare ") + more);
    EXPECT_EQ(result.code, 2) << more;
    EXPECT_THAT(result.text, HasSubstr("excludes --compare")) << more;
  }
}

}  // namespace
}  // namespace weir::cli
