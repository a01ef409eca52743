// SPDX-License-Identifier: Apache-2.0

#include "src/cli/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace weir::cli {
namespace {

/// Both ends of a pipe; the destructor closes those that were not taken.
struct Pipe {
  int read = -1, write = -1;

  bool open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    read = ends[0], write = ends[1];
    return true;
  }
  /// A pair of sockets: whoever sends to one whose reader has ended need not get SIGPIPE.
  bool open_sockets() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
    read = ends[0], write = ends[1];
    return true;
  }
  ~Pipe() {
    if (read >= 0) close(read);
    if (write >= 0) close(write);
  }
};

/// Runs in the child until the program starts. Writes errno to `report` on failure.
[[noreturn]] void become(const ChildSpec& spec, pid_t parent, const Pipe& in, const Pipe& out,
                         const Pipe& err, int report) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // the parent died before prctl() took effect
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);

  const int input = spec.input ? in.read : open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (input >= 0) dup2(input, STDIN_FILENO);
  if (spec.capture) {
    dup2(out.write, STDOUT_FILENO);
    dup2(err.write, STDERR_FILENO);
  }
  if (spec.binding != nullptr) spec.binding->apply(spec.place);
  for (const std::string& name : spec.unset) unsetenv(name.c_str());
  for (const auto& [name, value] : spec.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> words;
  for (const std::string& word : spec.command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  int error = errno;
  (void)!write(report, &error, sizeof(error));
  _exit(127);
}

Status no_process(const char* what) {
  return Status(Code::system_error, fmt::format("cannot {} for a rank: {}", what, strerror(errno)));
}

/// A process that has ended reads no more; its exit code tells why.
void send_all(int socket, const std::string& text) {
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t some = send(socket, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (some < 0 && errno != EINTR) return;
    if (some > 0) sent += static_cast<size_t>(some);
  }
}

}  // namespace

Result<Child> start_child(const ChildSpec& spec) {
  Pipe in, out, err, report;
  if ((spec.capture && (!out.open() || !err.open())) || !report.open() || (spec.input && !in.open_sockets()))
    return no_process("make a pipe");
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return no_process("start a process");
  if (pid == 0) become(spec, parent, in, out, err, report.write);
  setpgid(pid, pid);  // the child does the same; either may run first

  close(std::exchange(report.write, -1));
  int error = 0;
  ssize_t got;
  do got = read(report.read, &error, sizeof(error));
  while (got < 0 && errno == EINTR);
  if (got > 0) {  // 0 bytes: execvp() closed the pipe
    waitpid(pid, nullptr, 0);
    return Status(Code::invalid_argument,
                  fmt::format("cannot run '{}': {}", spec.command[0], strerror(error)));
  }
  if (spec.input) send_all(in.write, *spec.input);
  return Child{pid, std::exchange(out.read, -1), std::exchange(err.read, -1), std::exchange(in.write, -1)};
}

}  // namespace weir::cli
