// SPDX-License-Identifier: Apache-2.0

#include "src/drivers/hwloc.h"

#include <gmock/gmock.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <string>

namespace weir::drivers {
namespace {

using ::testing::HasSubstr;

/// From now on the kernel refuses the system call to this process.
bool refuse_call(unsigned call) {
  std::array<sock_filter, 4> program = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog filter{program.size(), program.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/// Some filters of containers do so; hwloc itself would ask for ever.
TEST(Hwloc, IsNotAskedWhereTheAffinityIsRefused) {
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // a hang ends with a signal
    const std::string said =
        refuse_call(__NR_sched_getaffinity) ? hwloc_xml().status().message() : "no filters";
    const bool told = write(pipes[1], said.data(), said.size()) == static_cast<ssize_t>(said.size());
    _exit(told ? 0 : 1);
  }
  close(pipes[1]);
  std::string said(1000, '\0');
  said.resize(static_cast<size_t>(std::max<ssize_t>(0, read(pipes[0], said.data(), said.size()))));
  close(pipes[0]);
  int state = 0;
  ASSERT_EQ(waitpid(child, &state, 0), child);
  if (said == "no filters") GTEST_SKIP() << "this kernel has no filters of system calls";
  EXPECT_EQ(state, 0);
  EXPECT_THAT(said, HasSubstr("this process may not ask for its cores (sched_getaffinity)"));
}

}  // namespace
}  // namespace weir::drivers
