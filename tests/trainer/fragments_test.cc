// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/fragments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace weir::trainer {
namespace {

using ::testing::HasSubstr;

Settings streaming(Index interval, Index count, Index delay, Index steps = 100) {
  Settings settings;
  settings.config.layers = 30;
  settings.local_steps = interval;
  settings.outer_fragments = count;
  settings.outer_delay = delay;
  settings.steps = steps;
  return settings;
}

TEST(Fragments, OneWithoutDelayIsMergedEverySoManyStepsAndAtTheEnd) {
  const Fragments fragments(streaming(5, 1, 0, 12));
  std::vector<Index> merged;
  for (Index step = 0; step < 12; ++step) {
    if (!fragments.merged_after(step).empty()) merged.push_back(step);
    EXPECT_FALSE(fragments.sent_after(step).has_value());
    EXPECT_FALSE(fragments.in_flight_after(step).has_value());
  }
  EXPECT_EQ(merged, (std::vector<Index>{4, 9, 11}));
  EXPECT_FALSE(fragments.overlap());
}

TEST(Fragments, UnitsAreDividedWithAStride) {
  const Fragments fragments(streaming(10, 3, 1));
  std::vector<size_t> found;
  for (size_t unit = 0; unit < 7; ++unit) found.push_back(fragments.of_unit(unit));
  EXPECT_EQ(found, (std::vector<size_t>{0, 1, 2, 0, 1, 2, 0}));
}

/// All intervals, fragments and delays that are possible.
TEST(Fragments, EachIsSentOnceInAnIntervalAndMergedBeforeTheNextOneIsSent) {
  for (Index interval = 1; interval <= 12; ++interval)
    for (Index count = 1; count <= interval; ++count)
      for (Index delay = 0; delay * count < interval; ++delay) {
        SCOPED_TRACE(::testing::Message()
                     << interval << " steps, " << count << " fragments, delay " << delay);
        const Settings settings = streaming(interval, count, delay, 3 * interval + 5);
        ASSERT_EQ(check_fragments(settings).message(), "");
        const Fragments fragments(settings);
        std::map<size_t, std::vector<Index>> merged;  // steps of each fragment
        std::optional<size_t> in_flight;
        for (Index step = 0; step < settings.steps - 1; ++step) {
          for (const size_t fragment : fragments.merged_after(step)) {
            merged[fragment].push_back(step);
            if (delay > 0) {
              EXPECT_EQ(in_flight, fragment);
              EXPECT_EQ(fragments.sent_after(step - delay), fragment);
            }
            in_flight.reset();
          }
          if (const auto sent = fragments.sent_after(step)) {
            EXPECT_FALSE(in_flight.has_value()) << "two on their way";
            in_flight = sent;
          }
          ASSERT_EQ(fragments.in_flight_after(step), in_flight) << "step " << step;
        }
        EXPECT_EQ(fragments.merged_after(settings.steps - 1).size(), static_cast<size_t>(count));
        EXPECT_FALSE(fragments.in_flight_after(settings.steps - 1).has_value());
        ASSERT_EQ(merged.size(), static_cast<size_t>(count));
        for (const auto& [fragment, steps] : merged)
          for (size_t at = 1; at < steps.size(); ++at) EXPECT_EQ(steps[at] - steps[at - 1], interval);
      }
}

TEST(Fragments, TheUsualDelayIsAStepIfThereIsTimeForIt) {
  Settings settings = streaming(10, 1, 0);
  settings.outer_delay.reset();
  EXPECT_EQ(outer_delay_of(settings), 0);
  settings.outer_fragments = 4;
  EXPECT_EQ(outer_delay_of(settings), 1);
  settings.outer_fragments = 10;
  EXPECT_EQ(outer_delay_of(settings), 0);
  EXPECT_EQ(check_fragments(settings).message(), "");
}

TEST(Fragments, WhatCannotBeIsRefusedWithASentence) {
  const auto refusal = [](auto change) {
    Settings settings = streaming(10, 2, 1);
    change(settings);
    return check_fragments(settings).message();
  };
  EXPECT_EQ(refusal([](Settings&) {}), "");
  EXPECT_THAT(refusal([](Settings& settings) { settings.outer_fragments = 0; }),
              HasSubstr("--outer-fragments 0 is too small; expected at least 1"));
  EXPECT_THAT(refusal([](Settings& settings) { settings.outer_delay = -1; }),
              HasSubstr("--outer-delay -1 is negative; expected at least 0"));
  EXPECT_THAT(refusal([](Settings& settings) { settings.outer_mix = 1; }),
              HasSubstr("--outer-mix 1 is invalid; expected at least 0 and less than 1"));
  EXPECT_THAT(refusal([](Settings& settings) { settings.local_steps = 0; }),
              HasSubstr("--outer-fragments or --outer-delay without --local-steps; expected both"));
  EXPECT_THAT(refusal([](Settings& settings) { settings.outer_fragments = 11; }),
              HasSubstr("--outer-fragments 11 with --local-steps 10: expected at most as many fragments as "
                        "steps, and as the model's 32 units"));
  EXPECT_THAT(refusal([](Settings& settings) { settings.config.layers = 1, settings.outer_fragments = 4; }),
              HasSubstr("the model's 3 units"));
  EXPECT_THAT(refusal([](Settings& settings) { settings.outer_delay = 5; }),
              HasSubstr("--outer-delay 5 with --local-steps 10 and --outer-fragments 2: expected less than 5 "
                        "steps"));
}

}  // namespace
}  // namespace weir::trainer
