// SPDX-License-Identifier: Apache-2.0

#include "src/base/process_state.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weir {
namespace {

TEST(ProcessState, OfOneThatRunsStopsEndsAndIsGone) {
  EXPECT_TRUE(is_alive(process_state(getpid())));
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  kill(child, SIGSTOP);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  EXPECT_TRUE(is_stopped(process_state(child)));
  EXPECT_TRUE(is_alive(process_state(child)));
  kill(child, SIGKILL);
  siginfo_t ended;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(process_state(child), 'Z');
  EXPECT_FALSE(is_alive('Z'));
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(process_state(child), '\0');
}

/// Peers see that its sockets are closed, and then ask whether it lives.
TEST(ProcessState, WhoHasClosedItsFilesWhileItEndsIsNotAlive) {
  for (int round = 0; round < 50; ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      for (;;) pause();
    }
    close(ends[1]);
    kill(child, SIGKILL);
    char none = 0;
    EXPECT_EQ(read(ends[0], &none, 1), 0);
    const char state = process_state(child);
    EXPECT_FALSE(is_alive(state)) << state;
    close(ends[0]);
    waitpid(child, nullptr, 0);
  }
}

}  // namespace
}  // namespace weir
