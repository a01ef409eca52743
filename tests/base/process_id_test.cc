// SPDX-License-Identifier: Apache-2.0

#include "src/base/process_id.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace weir {
namespace {

constexpr uid_t kNobody = 65534;

/// A child that announces itself, tells its identity and serves its socket. With a pid namespace of its own,
/// where the machine allows that; its number there is 1. `user`: whose process it becomes; 0: no other's.
class Child {
 public:
  explicit Child(bool own_namespace, uid_t user = 0) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    launcher_ = fork();
    if (launcher_ == 0) {
      if (own_namespace && unshare(CLONE_NEWPID) != 0) _exit(1);
      const pid_t child = fork();
      if (child == 0) {
        if (user != 0 && setresuid(user, user, user) != 0) _exit(1);
        announce_process();
        const ProcessId own = own_process_id();
        if (write(ends[1], &own, sizeof own) != sizeof own) _exit(1);
        for (;; usleep(1000)) let_onlookers_go();
      }
      close(ends[1]);
      int status = 0;
      waitpid(child, &status, 0);
      _exit(0);
    }
    close(ends[1]);
    known_ = read(ends[0], &id_, sizeof id_) == sizeof id_;
    close(ends[0]);
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool known() const { return known_; }
  const ProcessId& id() const { return id_; }
  /// Kills it, and returns when its parent has noted that.
  void end() {
    if (launcher_ < 0) return;
    kill_child(SIGKILL);
    int status = 0;
    waitpid(std::exchange(launcher_, -1), &status, 0);
  }
  void kill_child(int number) const;

 private:
  pid_t launcher_ = -1;
  ProcessId id_;
  bool known_ = false;
};

/// The child of the launcher has another number here than in its own namespace.
void Child::kill_child(int number) const {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task/%d/children", launcher_, launcher_);
  FILE* const file = fopen(path, "r");
  int pid = 0;
  if (file != nullptr && fscanf(file, "%d", &pid) == 1) kill(pid, number);
  if (file != nullptr) fclose(file);
}

bool becomes(const ProcessId& process, ProcessState state) {
  for (int look = 0; look < 20'000; ++look) {
    if (state_of(process) == state) return true;
    usleep(1000);
  }
  return false;
}

TEST(ProcessId, OfThisProcess) {
  const ProcessId own = own_process_id();
  EXPECT_EQ(own.pid, getpid());
  EXPECT_NE(own.kernel, 0u);
  EXPECT_NE(own.start, 0u);
  EXPECT_EQ(state_of(own), ProcessState::runs);
}

TEST(ProcessId, OfOneThatStopsAndEnds) {
  Child child(false);
  ASSERT_TRUE(child.known());
  EXPECT_EQ(state_of(child.id()), ProcessState::runs);
  child.kill_child(SIGSTOP);
  EXPECT_TRUE(becomes(child.id(), ProcessState::stopped));
  child.end();
  EXPECT_TRUE(becomes(child.id(), ProcessState::gone));
}

TEST(ProcessId, ANumberThatWentToAnotherProcessIsNotIt) {
  ProcessId before = own_process_id();
  before.start -= 1;
  EXPECT_EQ(state_of(before), ProcessState::gone);
}

TEST(ProcessId, OfAnotherMachineIsUnknown) {
  ProcessId other = own_process_id();
  other.kernel ^= 1;
  EXPECT_EQ(state_of(other), ProcessState::unknown);
  EXPECT_EQ(state_of({}), ProcessState::unknown);
}

/// Its number there, 1, is that of a process which runs here.
TEST(ProcessId, OfAnotherPidNamespace) {
  Child child(true);
  if (!child.known()) GTEST_SKIP() << "pid namespaces need root";
  EXPECT_EQ(child.id().pid, 1);
  ASSERT_EQ(child.id().announced, 1u);
  EXPECT_EQ(state_of(child.id()), ProcessState::runs);
  child.kill_child(SIGSTOP);
  EXPECT_TRUE(becomes(child.id(), ProcessState::stopped));
  child.end();
  EXPECT_TRUE(becomes(child.id(), ProcessState::gone));
}

/// As above, but from a namespace that sees nothing of it: whether it is stopped stays unknown.
TEST(ProcessId, OfASiblingNamespace) {
  Child child(true);
  if (!child.known()) GTEST_SKIP() << "pid namespaces need root";
  const pid_t launcher = fork();
  if (launcher == 0) {
    if (unshare(CLONE_NEWPID) != 0) _exit(1);
    const pid_t sibling = fork();
    if (sibling == 0) {
      if (state_of(child.id()) != ProcessState::runs) _exit(2);
      ProcessId other = child.id();
      other.start += 1;  // as if it had ended
      _exit(state_of(other) == ProcessState::gone ? 0 : 3);
    }
    int status = 0;
    waitpid(sibling, &status, 0);
    _exit(WEXITSTATUS(status));
  }
  int status = 0;
  waitpid(launcher, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

/// What the kernel says of a process to another user.
ProcessState state_for(uid_t user, const ProcessId& process) {
  const pid_t child = fork();
  if (child == 0) _exit(setresuid(user, user, user) != 0 ? 100 : static_cast<int>(state_of(process)));
  int status = 0;
  waitpid(child, &status, 0);
  return static_cast<ProcessState>(WEXITSTATUS(status));
}

/// Who has taken the name of another one may be anybody.
TEST(ProcessId, TheSocketOfAnotherUserProvesNothing) {
  Child child(true, kNobody);
  if (!child.known()) GTEST_SKIP() << "pid namespaces and other users need root";
  ASSERT_EQ(child.id().announced, 1u);
  EXPECT_EQ(state_of(child.id()), ProcessState::unknown);
  EXPECT_EQ(state_for(kNobody, child.id()), ProcessState::runs);
  Child of_root(true);
  EXPECT_EQ(state_for(kNobody, of_root.id()), ProcessState::runs);
}

/// The kernel keeps no more than 4096 connections that the process has not accepted.
TEST(ProcessId, ManyLooksLeaveRoomForMore) {
  Child child(true);
  if (!child.known()) GTEST_SKIP() << "pid namespaces need root";
  for (int look = 0; look < 6000; ++look) (void)state_of(child.id());
  EXPECT_TRUE(becomes(child.id(), ProcessState::runs));
}

}  // namespace
}  // namespace weir
