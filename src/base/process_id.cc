// SPDX-License-Identifier: Apache-2.0

#include "src/base/process_id.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <mutex>
#include <string>

#include "src/base/host.h"
#include "src/base/process_state.h"
#include "src/base/text.h"

namespace weir {
namespace {

std::mutex announcing;
int announced_socket = -1;           ///< guarded by `announcing`
std::atomic<int32_t> announced_pid;  ///< of the process that has opened it

/// The number of a namespace, which is its own among those that exist.
uint64_t space_number(const char* file) {
  struct stat space {};
  return stat(file, &space) == 0 ? space.st_ino : 0;
}

/// By these namespaces the kernel counts processes, and the time at which they started.
uint64_t own_pid_space() {
  const uint64_t pids = space_number("/proc/self/ns/pid");
  return pids == 0 ? 0 : pids ^ space_number("/proc/self/ns/time") << 32;
}

/// Whether /proc shows the processes by the numbers that this process uses.
bool proc_is_ours() {
  char target[32] = {};
  const ssize_t size = readlink("/proc/self", target, sizeof target - 1);
  int32_t pid = 0;
  if (size > 0) std::from_chars(target, target + size, pid);
  return pid == getpid();
}

/// The 22nd field of /proc/PID/stat; 0: there is no such process.
uint64_t start_of(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  constexpr size_t kStart = 19;  // counted behind the name
  const auto fields = split_list(std::string_view(line).substr(name_end + 1), ' ');
  uint64_t start = 0;
  if (fields.size() > kStart)
    std::from_chars(fields[kStart].data(), fields[kStart].data() + fields[kStart].size(), start);
  return start;
}

struct SocketName {
  sockaddr_un raw{};
  socklen_t size = 0;

  explicit SocketName(const ProcessId& process) {
    const std::string text =
        fmt::format("weir/process/{:x}/{}/{}", process.pid_space, process.pid, process.start);
    raw.sun_family = AF_UNIX;
    std::memcpy(raw.sun_path + 1, text.data(), text.size());
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  }
  const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&raw); }
};

int make_socket_for_names() { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

/// By its number `pid` in this process's namespace. `start`: 0: of any process of that number.
ProcessState state_of_number(int32_t pid, uint64_t start) {
  if (!proc_is_ours())
    return kill(pid, 0) != 0 && errno == ESRCH ? ProcessState::gone : ProcessState::unknown;
  const char state = process_state(pid);
  if (!is_alive(state)) return ProcessState::gone;
  const uint64_t found = start_of(std::to_string(pid));
  if (start != 0 && found != 0 && found != start)
    return ProcessState::gone;  // the number went to another one
  return is_stopped(state) ? ProcessState::stopped : ProcessState::runs;
}

/// Whether the process at the other end is of this process's user or of root. Others may have taken the name
/// of a process that has ended, to let it seem alive.
bool is_trusted(const ucred& owner) { return owner.uid == geteuid() || owner.uid == 0; }

/// By its socket. A connection shows that it exists, and its number, unless it is in a namespace that this
/// process cannot see.
ProcessState state_of_socket(const ProcessId& process) {
  const int fd = make_socket_for_names();
  if (fd < 0) return ProcessState::unknown;
  const SocketName name(process);
  ProcessState state = ProcessState::unknown;
  if (connect(fd, name.address(), name.size) == 0) {
    ucred owner{};
    socklen_t size = sizeof owner;
    const bool known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &owner, &size) == 0 && is_trusted(owner);
    if (known && owner.pid > 0) state = state_of_number(owner.pid, 0);
    if (known && state == ProcessState::unknown) state = ProcessState::runs;
  } else if (errno == ECONNREFUSED) {
    state = ProcessState::gone;
  }
  close(fd);
  return state;
}

}  // namespace

ProcessId own_process_id() {
  static const uint64_t kernel = kernel_identity();
  ProcessId own;
  own.kernel = kernel;
  own.pid_space = own_pid_space();
  own.net_space = space_number("/proc/self/ns/net");
  own.start = start_of("self");
  own.pid = static_cast<int32_t>(getpid());
  own.announced = announced_pid.load() == own.pid ? 1 : 0;
  return own;
}

void announce_process() {
  const std::lock_guard lock(announcing);
  const ProcessId own = own_process_id();
  if (own.announced == 1) return;
  if (announced_socket >= 0) close(announced_socket);  // of the parent of this process
  announced_socket = make_socket_for_names();
  constexpr int kWaiting = 4096;  // to connect is all that others want
  const SocketName name(own);
  if (announced_socket >= 0 && bind(announced_socket, name.address(), name.size) == 0 &&
      listen(announced_socket, kWaiting) == 0) {
    announced_pid.store(own.pid);
  } else if (announced_socket >= 0) {
    close(announced_socket);
    announced_socket = -1;
  }
}

void let_onlookers_go() {
  const std::lock_guard lock(announcing);
  while (announced_socket >= 0) {
    const int fd = accept4(announced_socket, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    close(fd);
  }
}

void forget_announced_parent() {
  if (announced_socket >= 0) close(announced_socket);
  announced_socket = -1;
}

ProcessState state_of(const ProcessId& process) {
  static const uint64_t kernel = kernel_identity();
  if (process.kernel == 0 || process.kernel != kernel || process.pid <= 0) return ProcessState::unknown;
  if (process.pid_space != 0 && process.pid_space == own_pid_space())
    return state_of_number(process.pid, process.start);
  const bool visible = process.net_space != 0 && process.net_space == space_number("/proc/self/ns/net");
  return visible && process.announced == 1 ? state_of_socket(process) : ProcessState::unknown;
}

}  // namespace weir
