// SPDX-License-Identifier: Apache-2.0
/// A forked child whose limits are lowered, so that the test itself keeps its own.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

namespace weir::testing {

/// The system gives the calling process no more threads. The superuser has no such limit, so a child of his
/// becomes nobody.
inline void allow_no_threads() {
  constexpr uid_t kNobody = 65534;
  if (getuid() == 0 && setresuid(kNobody, kNobody, kNobody) != 0) _exit(3);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_NPROC, &none);
}

/// The calling process may open no more descriptors.
inline void allow_no_descriptors() {
  const int lowest = dup(2);
  close(lowest);
  const rlimit none{static_cast<rlim_t>(lowest), static_cast<rlim_t>(lowest)};
  setrlimit(RLIMIT_NOFILE, &none);
}

/// The calling process may have `more` bytes of address space beside those that it has.
inline void allow_memory(uint64_t more) {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t limit = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + more;
  const rlimit both{limit, limit};
  setrlimit(RLIMIT_AS, &both);
}

/// From now on the kernel refuses the system call to this process. False: it has no such filters.
inline bool refuse_call(unsigned call) {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offsetof(seccomp_data, nr))),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/// What `body` returns in a forked child; "ended by signal N" if that does not return.
inline std::string in_child(const std::function<std::string()>& body) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    const std::string text = body();
    const bool written = write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::string text(65536, '\0');
  size_t got = 0;
  for (ssize_t more; (more = read(ends[0], text.data() + got, text.size() - got)) > 0;)
    got += static_cast<size_t>(more);
  close(ends[0]);
  text.resize(got);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return "ended by signal " + std::to_string(WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? text : "ended with exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace weir::testing
