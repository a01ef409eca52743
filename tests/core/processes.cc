// SPDX-License-Identifier: Apache-2.0

#include "tests/core/processes.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "src/base/clock.h"

namespace weir::testing {

void Processes::Voice::say(const std::string& line) const {
  const std::string text = line + "\n";
  if (write(fd_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) _exit(3);
}

Processes::Processes(int count, const Body& body) {
  fflush(nullptr);
  for (int i = 0; i < count; ++i) {
    int ends[2];
    if (pipe(ends) != 0) abort();
    const pid_t pid = fork();
    if (pid < 0) abort();
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      close(ends[0]);
      for (const Child& other : children_) close(other.fd);
      body(i, Voice(ends[1]));
      fflush(nullptr);
      _exit(0);
    }
    close(ends[1]);
    children_.push_back({pid, ends[0], {}});
  }
}

Processes::~Processes() {
  for (Child& child : children_) {
    if (child.pid > 0) {
      kill(child.pid, SIGKILL);
      waitpid(child.pid, nullptr, 0);
    }
    close(child.fd);
  }
}

void Processes::signal(int index, int number) const { kill(pid(index), number); }

std::string Processes::line(int index, double seconds) {
  Child& child = children_[static_cast<size_t>(index)];
  const Deadline deadline = Deadline::in_ms(static_cast<int64_t>(seconds * 1000));
  for (;;) {
    if (const size_t end = child.heard.find('\n'); end != std::string::npos) {
      const std::string line = child.heard.substr(0, end);
      child.heard.erase(0, end + 1);
      return line;
    }
    pollfd entry{child.fd, POLLIN, 0};
    if (deadline.over() || poll(&entry, 1, deadline.slice_ms(60'000)) <= 0) return "<silence>";
    char chunk[4096];
    const ssize_t size = read(child.fd, chunk, sizeof chunk);
    if (size <= 0) return "<end>";
    child.heard.append(chunk, static_cast<size_t>(size));
  }
}

bool Processes::ended_well(int index, double seconds) {
  Child& child = children_[static_cast<size_t>(index)];
  const Deadline deadline = Deadline::in_ms(static_cast<int64_t>(seconds * 1000));
  int status = 0;
  while (waitpid(child.pid, &status, WNOHANG) == 0) {
    if (deadline.over()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  child.pid = -1;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

Event::Event() {
  if (pipe(ends_) != 0) abort();
}

Event::~Event() {
  for (const int end : ends_) close(end);
}

void Event::happen() const {
  if (write(ends_[1], "!", 1) != 1) abort();
}

void Event::wait() const {
  pollfd entry{ends_[0], POLLIN, 0};
  while (poll(&entry, 1, -1) <= 0) {
  }
}

void await_connections(uint16_t port, int count) {
  /// So many are accepted, and all that was sent over them is read.
  const auto settled = [port, count] {
    constexpr unsigned kEstablished = 1;
    std::ifstream table("/proc/net/tcp");
    int accepted = 0;
    for (std::string line; std::getline(table, line);) {
      unsigned local = 0, remote = 0, state = 0, unsent = 0, unread = 0, inode = 0;
      const int fields = sscanf(line.c_str(), " %*d: %*x:%x %*x:%x %x %x:%x %*x:%*x %*x %*u %*u %u", &local,
                                &remote, &state, &unsent, &unread, &inode);
      if (fields != 6 || state != kEstablished || (local != port && remote != port)) continue;
      if (unsent != 0 || unread != 0) return false;
      accepted += local == port && inode != 0;
    }
    return accepted >= count;
  };
  const Deadline deadline = Deadline::in_ms(30'000);
  do {
    while (!settled() && !deadline.over()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  } while (!settled() && !deadline.over());
}

size_t count_descriptors() {
  using Iterator = std::filesystem::directory_iterator;
  return static_cast<size_t>(std::distance(Iterator("/proc/self/fd"), Iterator()));
}

size_t count_threads() {
  using Iterator = std::filesystem::directory_iterator;
  return static_cast<size_t>(std::distance(Iterator("/proc/self/task"), Iterator()));
}

}  // namespace weir::testing
