// SPDX-License-Identifier: Apache-2.0
// Traces, plots and pages of runs.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trainer/report/page.h"
#include "trainer/report/trace.h"

namespace weir::trainer {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing::Pointwise;

TEST(Ticks, AreRoundAndFew) {
  const auto near = [](std::vector<double> expected) {
    return Pointwise(testing::DoubleEq(), std::move(expected));
  };
  EXPECT_THAT(ticks_of(0, 100, 5), near({0, 20, 40, 60, 80, 100}));
  EXPECT_THAT(ticks_of(2.9, 8.1, 6), near({3, 4, 5, 6, 7, 8}));
  EXPECT_THAT(ticks_of(-0.3, 0.3, 5), near({-0.2, 0, 0.2}));
  for (const double width : {1e-6, 0.037, 1.0, 12345.0, 7e9}) {
    const auto ticks = ticks_of(width, 2 * width, 5);
    EXPECT_GE(ticks.size(), 2u) << width;
    EXPECT_LE(ticks.size(), 6u) << width;
  }
}

TEST(Trace, HasAProcessPerRankAndARowPerStream) {
  const Timeline timeline = {{{{1'000'000'000, 2'500'000, 0, 1, Row::computing, Phase::forward},
                               {1'001'000'000, 500'000, 0, 0, Row::gathers, Phase::gather}},
                              {{999'000'000, 1'000, 6, -1, Row::computing, Phase::update}}},
                             {"embedding", "block 1"}};
  const json trace = json::parse(trace_of(timeline));
  std::vector<json> events, names;
  for (const json& event : trace.at("traceEvents")) (event.at("ph") == "X" ? events : names).push_back(event);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].at("name"), "forward block 1");
  EXPECT_EQ(events[0].at("ts"), 1000.0) << "microseconds since the first span";
  EXPECT_EQ(events[0].at("dur"), 2500.0);
  EXPECT_EQ(events[0].at("args").at("step"), 1);
  EXPECT_EQ(events[1].at("name"), "gather embedding");
  EXPECT_NE(events[1].at("tid"), events[0].at("tid"));
  EXPECT_EQ(events[2].at("name"), "update");
  EXPECT_EQ(events[2].at("pid"), 1);
  EXPECT_EQ(events[2].at("ts"), 0.0);
  EXPECT_EQ(names.size(), 2u * (2 + kRowNames.size()));
}

TEST(Trace, OfNothingIsStillOne) {
  EXPECT_TRUE(json::parse(trace_of({})).at("traceEvents").empty());
  EXPECT_EQ(json::parse(trace_of({{{}}, {}})).at("traceEvents").size(), 2 + kRowNames.size());
}

TEST(Page, ShowsWhatItWasTold) {
  TrainingPage content;
  content.title = "a <run> & more";
  content.facts = {{"seed", "1 < 2"}};
  for (int step = 1; step <= 100; ++step)
    content.steps.push_back({double(step), 8.0 - step * 0.05, 1000, 5, 2, 3});
  content.held_out = {{100, 3.1}};
  content.levels = {{"a level that losses cross", 3.5}, {"one far below", 0.5}};
  content.last_step = {{{{0, 4'000'000, 99, 0, Row::computing, Phase::backward}}}, {"embedding"}};
  content.text = "And God said <b>";
  const std::string page = page_of(content);
  EXPECT_THAT(page, HasSubstr("a &lt;run&gt; &amp; more"));
  EXPECT_THAT(page, HasSubstr("<td>seed</td><td>1 &lt; 2</td>"));
  EXPECT_THAT(page, HasSubstr("a level that losses cross"));
  EXPECT_THAT(page, HasSubstr("\u2193 one far below: 0.5</text>")) << "named at the edge";
  EXPECT_THAT(page, HasSubstr("held out 100: 3.1</title>"));
  EXPECT_THAT(page, HasSubstr("backward embedding: 4.00 ms"));
  EXPECT_THAT(page, HasSubstr("And God said &lt;b&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
  EXPECT_THAT(page, Not(HasSubstr("src="))) << "needs nothing else";
}

/// The heights of the texts of a class in a plot.
std::vector<double> heights_of(const std::string& svg, const std::string& name) {
  std::vector<double> heights;
  for (size_t at = 0; (at = svg.find("class=\"" + name, at)) != std::string::npos; ++at)
    heights.push_back(std::stod(svg.substr(svg.find(" y=\"", at) + 4)));
  return heights;
}

TEST(Plot, NamesStandApartInsideThePlot) {
  Plot plot{"a", "b", {}, {}};
  for (const double last : {5.0, 5.01, 5.0, 1.0, 1.0})
    plot.series.push_back({"name", {{1, 3}, {2, last}}, false});
  auto heights = heights_of(svg_of(plot), "name");
  std::sort(heights.begin(), heights.end());
  ASSERT_EQ(heights.size(), 5u);
  for (size_t at = 1; at < heights.size(); ++at) EXPECT_GE(heights[at] - heights[at - 1], 12.9);
  EXPECT_GT(heights.front(), 20);
  EXPECT_LT(heights.back(), 240);
}

TEST(Plot, LogarithmicAxesShowSmallValuesApart) {
  Plot plot{"a", "b", {{"x", {{1, 8}, {2, 4}, {3, 2}, {4, 1}}, true}}, {{"high", 100}, {"low", 0.1}}};
  const auto gap = [&] {
    const std::string svg = svg_of(plot);
    std::vector<double> heights;
    for (size_t at = 0; (at = svg.find(" cy=\"", at)) != std::string::npos; ++at)
      heights.push_back(std::stod(svg.substr(at + 5)));
    EXPECT_EQ(heights.size(), 4u);
    return (heights[3] - heights[2]) / (heights[1] - heights[0]);
  };
  EXPECT_NEAR(gap(), 0.25, 0.01);
  plot.logarithmic = true;
  EXPECT_NEAR(gap(), 1.0, 0.01);
  EXPECT_THAT(svg_of(plot), HasSubstr("\u2191 high: 100</text>"));
  EXPECT_THAT(svg_of(plot), HasSubstr("\u2193 low: 0.1</text>"));
  plot.series[0].points[3].second = 0;
  EXPECT_THAT(svg_of(plot), Not(HasSubstr("nan"))) << "no logarithm";
}

TEST(Page, NamesBlocksWhereThereIsSpace) {
  TrainingPage content;
  content.last_step = {{{{0, 4'000'000, 9, 0, Row::computing, Phase::forward},
                         {4'000'000, 20'000, 9, 1, Row::computing, Phase::backward}}},
                       {"embedding", "block 1"}};
  const std::string page = page_of(content);
  EXPECT_THAT(page, HasSubstr(">embedding</text>"));
  EXPECT_THAT(page, Not(HasSubstr(">block 1</text>"))) << "too narrow";
  EXPECT_THAT(page, HasSubstr("var(--backward)\"></i>backward"));
  EXPECT_THAT(page, Not(HasSubstr("></i>gather"))) << "there is none";
}

TEST(Page, OfARunWithoutStepsOrPeers) {
  EXPECT_THAT(page_of(TrainingPage()), Not(HasSubstr("<svg")));
  TrainingPage alone;
  alone.steps = {{1, 8, 1000, 0, 0, 0}};
  EXPECT_THAT(page_of(alone), Not(HasSubstr("Communication")));
}

TEST(WriteFile, NamesWhatCannotBeWritten) {
  const Status status = write_file("/no/such/folder/file", "text", "trace");
  EXPECT_EQ(status.code(), Code::system_error);
  EXPECT_THAT(status.message(), HasSubstr("/no/such/folder/file: the trace cannot be written: No such file"));
}

}  // namespace
}  // namespace weir::trainer
