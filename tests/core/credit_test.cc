// SPDX-License-Identifier: Apache-2.0

#include "src/core/channels/credit.h"

#include <gtest/gtest.h>

namespace weir::core {
namespace {

constexpr double kGigabitPerS = 1e9 / 8;

/// Ranks on `host` by process.
std::vector<PeerAddress> processes(uint64_t host, std::initializer_list<int32_t> pids) {
  std::vector<PeerAddress> peers;
  for (const int32_t pid : pids) peers.push_back({.listener = {}, .host = host, .pid = pid, .hostname = ""});
  return peers;
}

TEST(Credit, IsWhatTheNetworkCarriesIn1300Microseconds) {
  const auto alone = processes(1, {10});
  EXPECT_NEAR(static_cast<double>(credit_of({}, 1 / (10 * kGigabitPerS), alone, 0)), 1'625'000, 1);
  EXPECT_EQ(credit_of({}, 1 / (0.1 * kGigabitPerS), alone, 0), 64u << 10) << "the least";
  EXPECT_EQ(credit_of({}, 1 / (400 * kGigabitPerS), alone, 0), 4u << 20) << "the most";
  EXPECT_EQ(credit_of({}, 0, alone, 0), 4u << 20) << "no rate";
}

TEST(Credit, IsSharedByTheProcessesOfAHost) {
  Options options;
  options.credit_bytes = 120'000;
  auto peers = processes(1, {10, 10, 11, 12});
  for (const PeerAddress& other : processes(2, {10, 11, 12, 13})) peers.push_back(other);
  EXPECT_EQ(credit_of(options, 1e-9, peers, 0), 40'000u);
  EXPECT_EQ(credit_of(options, 1e-9, peers, 7), 30'000u);
}

TEST(Credit, ZeroStaysNoLimit) {
  Options options;
  options.credit_bytes = 0;
  EXPECT_EQ(first_credit(options), 0u);
  EXPECT_EQ(credit_of(options, 1e-9, processes(1, {10}), 0), 0u);
  options.credit_bytes = 1;
  EXPECT_EQ(credit_of(options, 1e-9, processes(1, {10, 11}), 0), 1u) << "0 would be no limit";
}

}  // namespace
}  // namespace weir::core
