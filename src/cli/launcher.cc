// SPDX-License-Identifier: Apache-2.0

#include "src/cli/launcher.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

namespace weir::cli {
namespace {

constexpr auto kAfterDeath = std::chrono::seconds(2);    ///< time from SIGTERM to SIGKILL after a death
constexpr auto kDrain = std::chrono::milliseconds(200);  ///< time to read output of descendants

Status system_error(const char* what) {
  return Status(Code::system_error, fmt::format("{}: {}", what, strerror(errno)));
}

}  // namespace

Launcher::Launcher(std::vector<LaunchedProcess> processes, LaunchPolicy policy)
    : processes_(std::move(processes)), policy_(policy) {}

Launcher::~Launcher() {
  if (signals_ >= 0) close(signals_);
  for (const Running& process : running_)
    if (process.input >= 0) close(process.input);
}

Status Launcher::prepare_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
    struct sigaction now {};
    sigaction(signal, nullptr, &now);
    if (now.sa_handler != SIG_IGN) sigaddset(&set, signal);  // keep ignoring signals that nohup ignores
  }
  if (sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return system_error("cannot block signals");
  signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_ < 0) return system_error("cannot make a signalfd");
  // Orphaned descendants of a rank become children of this process, which can then end them.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  return Status();
}

Status Launcher::start_all() {
  for (const LaunchedProcess& process : processes_) {
    const Result<Child> child = start_child(process.spec);
    WEIR_TRY(child.status());
    running_.push_back({child->pid, child->in});
    if (!process.spec.capture) continue;
    relays_.emplace_back(child->out, STDOUT_FILENO, process.prefix);
    relays_.emplace_back(child->err, STDERR_FILENO, process.prefix);
  }
  return Status();
}

Result<int> Launcher::run() {
  WEIR_TRY(prepare_signals());
  Status started = start_all();
  if (!started.ok()) {
    end_what_is_left();
    return started;
  }
  while (running() > 0) wait_for_something();
  // Read output that is already in the pipes; do not wait for other processes that hold them open.
  for (auto deadline = Clock::now() + kDrain; !relays_.empty() && Clock::now() < deadline;) {
    kill_at_ = deadline;
    wait_for_something();
  }
  end_what_is_left();
  return code_ == 0 && !ended_well_ ? missed_ : code_;
}

size_t Launcher::running() const {
  size_t count = 0;
  for (const Running& process : running_) count += !process.ended;
  return count;
}

void Launcher::wait_for_something() {
  std::vector<pollfd> descriptors = {{signals_, POLLIN, 0}, {policy_.orders, POLLIN, 0}};
  for (const LineRelay& relay : relays_) descriptors.push_back({relay.descriptor(), POLLIN, 0});
  int timeout = -1;
  if (kill_at_) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*kill_at_ - Clock::now()).count();
    timeout = left < 0 ? 0 : static_cast<int>(left) + 1;
  }
  if (poll(descriptors.data(), descriptors.size(), timeout) > 0) {
    for (size_t i = 0; i < relays_.size(); ++i)
      if (descriptors[i + 2].revents != 0) relays_[i].pump();
    std::vector<LineRelay> open;
    for (LineRelay& relay : relays_)
      if (relay.descriptor() >= 0) open.push_back(std::move(relay));
    relays_.swap(open);
    if (descriptors[0].revents != 0) read_signals();
    if (descriptors[1].revents != 0) read_orders();
  }
  if (kill_at_ && Clock::now() >= *kill_at_) {
    kill_at_.reset();
    signal_all(SIGKILL);
  }
}

void Launcher::read_signals() {
  for (signalfd_siginfo info; read(signals_, &info, sizeof(info)) == sizeof(info);)
    if (info.ssi_signo != SIGCHLD) pass_on(static_cast<int>(info.ssi_signo));
  find_ended();
}

void Launcher::read_orders() {
  unsigned char signal = 0;
  if (read(policy_.orders, &signal, 1) == 1) return pass_on(signal);
  policy_.orders = -1;  // nobody is there any more who could end this
  pass_on(SIGTERM);
}

void Launcher::pass_on(int signal) {
  // What they mean is the program's affair; the last one follows SIGTERM for those that are stopped.
  if (signal == SIGUSR1 || signal == SIGUSR2 || signal == SIGCONT) return signal_all(signal);
  signal_all(++passed_on_ == 1 ? signal : SIGKILL);
  if (policy_.grace.count() > 0) kill_at_ = Clock::now() + policy_.grace;
}

void Launcher::find_ended() {
  for (size_t i = 0; i < running_.size(); ++i) {
    // Ended processes stay zombies until the end, so that nobody else can get the number of their process
    // group.
    siginfo_t info{};
    if (!running_[i].ended) note_stop(running_[i]);
    if (running_[i].ended ||
        waitid(P_PID, static_cast<id_t>(running_[i].pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid == 0)
      continue;
    running_[i].ended = true;
    note_end(i, info.si_code != CLD_EXITED, info.si_status);
  }
  if (!policy_.keep_going || !only_stopped_are_left()) return;
  for (size_t i = 0; i < running_.size(); ++i) {
    if (running_[i].ended || kills_stopped_) continue;
    fmt::print(stderr, "weir run: {} (pid {}) is stopped and all other ranks have ended; killing it\n",
               processes_[i].name, running_[i].pid);
  }
  kills_stopped_ = true;
  signal_all(SIGKILL);
}

void Launcher::note_stop(Running& process) {
  siginfo_t info{};
  const auto id = static_cast<id_t>(process.pid);
  while (waitid(P_PID, id, &info, WSTOPPED | WCONTINUED | WNOHANG) == 0 && info.si_pid != 0) {
    process.stopped = info.si_code == CLD_STOPPED;
    info = {};
  }
}

bool Launcher::only_stopped_are_left() const {
  const auto lives = [](const Running& process) { return !process.ended && !process.stopped; };
  return ended_well_ && std::ranges::none_of(running_, lives);
}

void Launcher::note_end(size_t index, bool killed, int status) {
  ended_well_ |= !killed && status == 0;
  if ((!killed && status == 0) || code_ != 0) return;
  const size_t others = running();
  const bool missed = policy_.keep_going && killed && passed_on_ == 0;
  int& code = missed ? missed_ : code_;
  if (code == 0) code = killed ? 128 + status : status;
  if (passed_on_ > 0 || kills_stopped_) return;  // the launcher itself ended it
  const std::string_view then = missed ? "the other {} continue" : "stopping the other {}";
  std::string how = killed ? fmt::format("was killed by signal {} ({})", status, strsignal(status))
                           : fmt::format("exited with code {}", status);
  fmt::print(stderr, "weir run: {} (pid {}) {}{}\n", processes_[index].name, running_[index].pid, how,
             others > 0 ? "; " + fmt::format(fmt::runtime(then), others) : "");
  if (others == 0 || missed) return;
  signal_all(SIGTERM);
  signal_all(SIGCONT);  // a stopped process cannot handle SIGTERM
  kill_at_ = Clock::now() + kAfterDeath;
}

/// Signals the process groups of all processes that have not ended, or what they have started elsewhere.
void Launcher::signal_all(int signal) {
  for (const Running& process : running_) {
    const auto order = static_cast<unsigned char>(signal);
    if (process.ended) continue;
    if (process.input < 0 || signal == SIGKILL)
      kill(-process.pid, signal);
    else
      (void)!send(process.input, &order, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
}

void Launcher::end_what_is_left() {
  for (const Running& process : running_) kill(-process.pid, SIGKILL);
  while (true) {
    // Descendants that left their group become children of this process when their parents end.
    std::ifstream children(fmt::format("/proc/self/task/{}/children", gettid()));
    for (pid_t pid = 0; children >> pid;) kill(pid, SIGKILL);
    if (waitpid(-1, nullptr, 0) < 0 && errno == ECHILD) return;
  }
}

}  // namespace weir::cli
