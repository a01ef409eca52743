// SPDX-License-Identifier: Apache-2.0

#include "src/core/execution/calibration.h"

#include <gtest/gtest.h>

namespace weir::core {
namespace {

constexpr double kRate = 25e6;  // bytes per second
constexpr size_t kBase = 64 << 10, kLarge = 128 << 10;

/// Seconds that the network needs behind a bucket that lets some bytes pass at once.
double takes(size_t bytes, double latency, double bucket = 0) {
  return latency + (static_cast<double>(bytes) - bucket) / kRate;
}

TEST(Calibration, WhatDoesNotDependOnTheBytesIsLeftOut) {
  for (const double latency : {0.0, 1e-4, 1.0}) {
    for (const double bucket : {0.0, 32e3}) {
      const std::array least = {TimedTransfer{kBase, takes(kBase, latency, bucket)},
                                TimedTransfer{kLarge, takes(kLarge, latency, bucket)}};
      EXPECT_TRUE(fit(least, latency));
      EXPECT_NEAR(seconds_per_byte(least, latency) * kRate, 1, 1e-6) << latency << " " << bucket;
    }
  }
}

TEST(Calibration, TimesThatAreTooLongMakeNoNetworkFast) {
  const double large = takes(kLarge, 1e-4, 32e3);
  for (const double base : {large * 0.9, large, large * 2}) {
    const std::array least = {TimedTransfer{kBase, base}, TimedTransfer{kLarge, large}};
    EXPECT_FALSE(fit(least, 1e-4));
    const double found = 1 / seconds_per_byte(least, 1e-4);
    EXPECT_NEAR(found, kRate * kLarge / (kLarge - 32e3), 1) << "a third too fast, by the bucket";
  }
}

TEST(Calibration, ADelayOfNothingAtAllDoesNotCount) {
  const std::array least = {TimedTransfer{kBase, 0.3}, TimedTransfer{kLarge, 0.2}};
  EXPECT_NEAR(seconds_per_byte(least, 0.4), 0.2 / kLarge, 1e-12);
}

TEST(Calibration, WhatWasNotMeasuredDoesNotFit) {
  EXPECT_FALSE(fit({TimedTransfer{kBase}, TimedTransfer{kLarge}}, std::numeric_limits<double>::infinity()));
}

}  // namespace
}  // namespace weir::core
