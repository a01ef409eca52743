// SPDX-License-Identifier: Apache-2.0
// What one process notes of signals, and what it says at the end. How ranks agree is in signals_test.py.
#include "trainer/run/stop_signals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <csignal>

#include "trainer/run/restart_words.h"

namespace weir::trainer {
namespace {

class Stopping : public ::testing::Test {
 protected:
  ~Stopping() override { forget_stop_signals(); }
};

TEST_F(Stopping, EachSignalIsNotedAndNamed) {
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) {
    forget_stop_signals();
    const StopSignals signals;
    EXPECT_EQ(stop_vote(), 0u);
    std::raise(signal);
    EXPECT_EQ(signal_of(stop_vote()), signal);
  }
}

TEST_F(Stopping, VotesOfManyRanksAddUp) {
  const auto vote = [](int signal) {
    forget_stop_signals();
    const StopSignals signals;
    std::raise(signal);
    return stop_vote();
  };
  const uint64_t warned = vote(SIGUSR1), interrupted = vote(SIGINT), terminated = vote(SIGTERM);
  EXPECT_EQ(signal_of(0), 0);
  EXPECT_EQ(signal_of(20'000 * warned), SIGUSR1);
  EXPECT_EQ(signal_of(20'000 * warned + interrupted), SIGINT);
  EXPECT_EQ(signal_of(20'000 * warned + 20'000 * interrupted + terminated), SIGTERM);
}

TEST_F(Stopping, WhatIsIgnoredStaysIgnored) {
  std::signal(SIGINT, SIG_IGN);
  {
    const StopSignals signals;
    std::raise(SIGINT);
    EXPECT_EQ(stop_vote(), 0u);
  }
  EXPECT_EQ(std::signal(SIGINT, SIG_DFL), SIG_IGN);
  EXPECT_EQ(std::signal(SIGTERM, SIG_DFL), SIG_DFL) << "restored";
}

TEST_F(Stopping, ALaterSecondRequestEnds) {
  const auto asks = [](std::array<int, 2> before) {
    const StopSignals signals;
    for (const int signal : before) std::raise(signal);
    while (true) std::raise(SIGTERM);
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(asks({SIGTERM, SIGTERM}), ::testing::KilledBySignal(SIGTERM), "");
  EXPECT_EXIT(asks({SIGUSR1, SIGINT}), ::testing::KilledBySignal(SIGTERM), "");
}

TEST_F(Stopping, AWarningIsNoRequest) {
  const StopSignals signals;
  std::raise(SIGUSR1);
  std::raise(SIGUSR1);
  std::raise(SIGTERM);
  EXPECT_EQ(signal_of(stop_vote()), SIGTERM);
  std::raise(SIGUSR1);
  EXPECT_EQ(signal_of(stop_vote()), SIGTERM) << "a warning after it changes nothing";
}

TEST(StopSignals, AreHandledOnAStackOfTheirOwn) {
  const auto stack = [] {
    stack_t now{};
    sigaltstack(nullptr, &now);
    return now;
  };
  const stack_t before = stack();
  {
    const StopSignals signals;
    for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) {
      struct sigaction now {};
      sigaction(signal, nullptr, &now);
      EXPECT_NE(now.sa_flags & SA_ONSTACK, 0) << signal;
    }
    EXPECT_EQ(stack().ss_flags, 0) << "in use only while a handler runs";
    EXPECT_GE(stack().ss_size, size_t{32} << 10);
    EXPECT_NE(stack().ss_sp, before.ss_sp);
  }
  EXPECT_EQ(stack().ss_sp, before.ss_sp);
}

TEST(RestartWords, AreWhatAShellReads) {
  EXPECT_EQ(shell_words(std::array{"a", "--b=c/d.e", "it's", "", "x y", "$z"}),
            "a --b=c/d.e 'it'\\''s' '' 'x y' '$z'");
}

TEST(RestartWords, NameTheCommandIfSomethingIsSaved) {
  const std::array command = {"weir-train", "--prompt", "And God"};
  Settings settings;
  settings.steps = 20;
  const RunEnd ending{.steps = 3, .stop_signal = SIGTERM};
  EXPECT_EQ(
      restart_words(ending, settings, command, false),
      "stopped by signal 15 (Terminated) after step 3 of 20; nothing is saved, because --checkpoints was "
      "not given");
  settings.checkpoints = "kept";
  EXPECT_EQ(restart_words(ending, settings, command, false),
            "stopped by signal 15 (Terminated) after step 3 of 20; saved in kept\n"
            "to go on: weir-train --prompt 'And God'");
  EXPECT_THAT(
      restart_words(ending, settings, command, true),
      ::testing::EndsWith("\nto go on, with the launcher as before and any number of ranks: weir-train "
                          "--prompt 'And God'"));
}

}  // namespace
}  // namespace weir::trainer
