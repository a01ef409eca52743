// SPDX-License-Identifier: Apache-2.0
// Traces, plots and pages of runs.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

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
  EXPECT_THAT(page, Not(HasSubstr("one far below")));
  EXPECT_THAT(page, HasSubstr("held out 100: 3.1</title>"));
  EXPECT_THAT(page, HasSubstr("backward embedding: 4.00 ms"));
  EXPECT_THAT(page, HasSubstr("And God said &lt;b&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
  EXPECT_THAT(page, Not(HasSubstr("src="))) << "needs nothing else";
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
