// SPDX-License-Identifier: Apache-2.0

#include "transports/memory/remote_memory.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>

namespace weir {
namespace {

/// Whether this process may read its own memory; if not, a seccomp filter forbids the system call.
bool call_is_allowed() {
  uint64_t there = 1, here = 0;
  const auto from = reinterpret_cast<RemoteAddress>(&there);
  return RemoteMemory(getpid()).read({{&here, from, sizeof here}}) == 0 && here == 1;
}

/// Value of kernel.yama.ptrace_scope; 0 if the kernel has none.
int ptrace_scope() {
  std::ifstream file("/proc/sys/kernel/yama/ptrace_scope");
  int scope = 0;
  return file >> scope ? scope : 0;
}

}  // namespace

int RemoteMemory::read(std::initializer_list<RemotePart> parts) const {
  iovec here[8];
  iovec there[8];
  size_t count = 0;
  size_t total = 0;
  for (const RemotePart& part : parts) {
    if (part.bytes == 0) continue;
    here[count] = {part.into, part.bytes};
    there[count] = {reinterpret_cast<void*>(part.from), part.bytes};
    ++count;
    total += part.bytes;
  }
  const ssize_t copied = process_vm_readv(pid_, here, count, there, count, 0);
  if (copied < 0) return errno;
  return static_cast<size_t>(copied) == total ? 0 : EFAULT;
}

uint64_t pid_namespace() {
  struct stat info;
  return stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

std::string explain_refusal(pid_t pid, int error) {
  const std::string what = fmt::format("the memory of process {} cannot be read", pid);
  if (error == ESRCH) return what + ": the process does not exist (any more)";
  if (error == EFAULT) return what + ": it was unmapped, or the process id now belongs to another process";
  if (!call_is_allowed()) {
    return fmt::format(
        "{}: {} for process_vm_readv even within this process; a seccomp filter forbids it (docker: add "
        "--cap-add=SYS_PTRACE)",
        what, std::generic_category().message(error));
  }
  struct stat info;
  if (stat(fmt::format("/proc/{}", pid).c_str(), &info) == 0 && info.st_uid != geteuid()) {
    return fmt::format("{}: it runs as user {}, but this process runs as user {}; run both as the same user",
                       what, info.st_uid, geteuid());
  }
  if (const int scope = ptrace_scope(); error == EPERM && scope > 0) {
    return fmt::format(
        "{}: the kernel allows this only to debuggers (kernel.yama.ptrace_scope is {}); set it to 0 or "
        "grant CAP_SYS_PTRACE",
        what, scope);
  }
  return fmt::format(
      "{}: {}; run both processes as the same user and dumpable (prctl PR_SET_DUMPABLE), or grant "
      "CAP_SYS_PTRACE",
      what, std::generic_category().message(error));
}

}  // namespace weir
