// SPDX-License-Identifier: Apache-2.0
/// Lets a test act as a user who is neither its own nor root.
#pragma once

#include <grp.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weir::testing {

inline constexpr uid_t kOtherUser = 65534;

/// Whether this process may take another user.
inline bool can_be_another_user() { return geteuid() == 0; }

/// Becomes the other user for good; only for forked children. Returns false if that fails.
inline bool become_another_user() {
  return setgroups(0, nullptr) == 0 && setresgid(kOtherUser, kOtherUser, kOtherUser) == 0 &&
         setresuid(kOtherUser, kOtherUser, kOtherUser) == 0;
}

/// What `body` returns, a number from 0 to 99, in a forked child of the other user; -1 if there is none.
template <typename Body>
int as_another_user(const Body& body) {
  const pid_t child = fork();
  if (child == 0) _exit(become_another_user() ? body() : 100);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status) == 100 ? -1 : WEXITSTATUS(status);
}

}  // namespace weir::testing
