// SPDX-License-Identifier: Apache-2.0

#include "src/cli/launcher.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
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
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string_view>
#include <vector>

#include "src/net/secret.h"
#include "weir/launched.h"

namespace weir::cli {
namespace {

constexpr auto kAfterDeath = std::chrono::seconds(2);    ///< time from SIGTERM to SIGKILL after a death
constexpr auto kDrain = std::chrono::milliseconds(200);  ///< time to read output of descendants

Status system_error(const char* what) {
  return Status(Code::system_error, fmt::format("{}: {}", what, strerror(errno)));
}

std::string prepended(const std::string& first, const char* variable) {
  const char* rest = std::getenv(variable);
  return rest != nullptr && *rest != '\0' ? first + ":" + rest : first;
}

/// First port of the kernel's ephemeral range. The kernel never assigns a port below it by itself, so such a
/// port stays free until somebody binds it.
int first_automatic_port() {
  std::ifstream file("/proc/sys/net/ipv4/ip_local_port_range");
  int first = 0;
  return file >> first ? first : 32768;
}

/// Binds a socket to `port` of the loopback interface, or to any port if that is 0; -1 if the port is in use.
int take_port(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) return fd;
  close(fd);
  return -1;
}

int port_of(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

/// A loopback address that other launchers do not use. Between its choice and the moment when rank 0 listens,
/// another program may take the port of 127.0.0.1.
std::string own_address() {
  const uint32_t random = std::random_device()();
  return fmt::format("127.{}.{}.{}", 1 + random % 254, (random >> 8) % 256, 1 + (random >> 16) % 254);
}

/// A random secret for ranks whose address this launcher chooses; empty if they have one already.
Result<std::string> secret_of(const LaunchRequest& request) {
  const auto is_set = [](const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr && *value != '\0';
  };
  const bool given = is_set("WEIR_SECRET") || is_set("WEIR_SECRET_FILE");
  if (request.comm_id || given) return std::string();
  const auto secret = Secret::random();
  WEIR_TRY(secret.status());
  std::string text;
  for (const std::byte byte : secret->bytes()) text += fmt::format("{:02x}", std::to_integer<int>(byte));
  return text;
}

/// The variables of other launchers, inside which this one may run: its ranks have numbers of their own.
std::vector<std::string> other_launchers() {
  std::vector<std::string> names;
  for (const LauncherVariables& launcher : kLaunchers)
    for (const char* name : {launcher.rank, launcher.size, launcher.local_rank, launcher.local_size})
      names.emplace_back(name);
  return names;
}

/// The ranks of one host.
struct HostRanks {
  int first = 0;
  int count = 1;
};

HostRanks ranks_beside(const LaunchRequest& request, int rank) {
  int first = 0;
  for (const int count : request.host_ranks) {
    if (rank < first + count) return {first, count};
    first += count;
  }
  const auto first_of = [&](int64_t node) {
    return static_cast<int>((node * request.ranks + request.nodes - 1) / request.nodes);
  };
  const int64_t node = int64_t{rank} * request.nodes / request.ranks;
  return {first_of(node), first_of(node + 1) - first_of(node)};
}

void preload(const LaunchRequest& request, std::vector<std::pair<std::string, std::string>>& variables) {
  std::string loaded = request.heap, folders;
  std::vector<std::string> libraries = request.stand_ins;
  if (!request.preload.empty()) libraries.insert(libraries.begin(), request.preload);
  for (const std::string& library : libraries) {
    const std::string folder = std::filesystem::path(library).parent_path();
    loaded += (loaded.empty() ? "" : ":") + library;
    if (!folders.ends_with(folder)) folders += (folders.empty() ? "" : ":") + folder;
  }
  if (!libraries.empty()) variables.emplace_back("LD_LIBRARY_PATH", prepended(folders, "LD_LIBRARY_PATH"));
  if (!loaded.empty()) variables.emplace_back("LD_PRELOAD", prepended(loaded, "LD_PRELOAD"));
}

/// Environment variables that are set for a rank in addition to the inherited ones.
std::vector<std::pair<std::string, std::string>> rank_environment(const LaunchRequest& request, int rank,
                                                                  const std::string& comm_id,
                                                                  const std::string& secret,
                                                                  int master_port) {
  const HostRanks beside = ranks_beside(request, rank);
  std::vector<std::pair<std::string, std::string>> variables = {
      {"RANK", std::to_string(rank)},
      {"WORLD_SIZE", std::to_string(request.ranks)},
      {"LOCAL_RANK", std::to_string(rank - beside.first)},
      {"LOCAL_WORLD_SIZE", std::to_string(beside.count)},
      {"MASTER_ADDR", "127.0.0.1"},
      {"MASTER_PORT", std::to_string(master_port)},
  };
  if (request.nodes > 1)
    variables.emplace_back("NCCL_HOSTID",
                           fmt::format("node{}", int64_t{rank} * request.nodes / request.ranks));
  if (!comm_id.empty()) variables.emplace_back("NCCL_COMM_ID", comm_id);
  if (!secret.empty()) variables.emplace_back("WEIR_SECRET", secret);
  preload(request, variables);
  variables.insert(variables.end(), request.environment.begin(), request.environment.end());
  return variables;
}

}  // namespace

Result<std::pair<int, int>> free_ports() {
  constexpr int kLowest = 10000;
  constexpr int kTries = 100;
  const int end = first_automatic_port();
  std::random_device random;
  std::vector<int> taken;  // both stay open, so that the two ports differ
  for (int i = 0; i < kTries && taken.size() < 2; ++i) {
    const bool any = end <= kLowest || i >= kTries - 2;
    const int fd =
        take_port(any ? 0 : kLowest + static_cast<int>(random() % static_cast<unsigned>(end - kLowest)));
    if (fd >= 0) taken.push_back(fd);
  }
  Result<std::pair<int, int>> ports = system_error("there is no free port on the loopback interface");
  if (taken.size() == 2) ports = std::pair(port_of(taken[0]), port_of(taken[1]));
  for (const int fd : taken) close(fd);
  return ports;
}

Launcher::Launcher(LaunchRequest request) : request_(std::move(request)) {}

Launcher::~Launcher() {
  if (signals_ >= 0) close(signals_);
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
  Result<CoreBinding> binding = CoreBinding::make(request_.bind, request_.ranks);
  if (!binding.ok()) return binding.status();
  Result<std::pair<int, int>> ports = free_ports();
  if (!ports.ok()) return ports.status();
  const std::string comm_id = request_.comm_id.value_or(fmt::format("{}:{}", own_address(), ports->first));
  const Result<std::string> secret = secret_of(request_);
  if (!secret.ok()) return secret.status();
  for (int rank = 0; rank < request_.ranks; ++rank) {
    ChildSpec spec;
    spec.command = request_.command;
    spec.environment = rank_environment(request_, rank, comm_id, *secret, ports->second);
    spec.unset = other_launchers();
    spec.rank = rank;
    spec.binding = &*binding;
    spec.capture = !request_.plain;
    Result<Child> child = start_child(spec);
    if (!child.ok()) return child.status();
    ranks_.push_back({child->pid});
    if (!spec.capture) continue;
    relays_.emplace_back(child->out, STDOUT_FILENO, fmt::format("[{}] ", rank));
    relays_.emplace_back(child->err, STDERR_FILENO, fmt::format("[{}] ", rank));
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
  for (const Rank& rank : ranks_) count += !rank.ended;
  return count;
}

void Launcher::wait_for_something() {
  std::vector<pollfd> descriptors = {{signals_, POLLIN, 0}};
  for (const LineRelay& relay : relays_) descriptors.push_back({relay.descriptor(), POLLIN, 0});
  int timeout = -1;
  if (kill_at_) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*kill_at_ - Clock::now()).count();
    timeout = left < 0 ? 0 : static_cast<int>(left) + 1;
  }
  if (poll(descriptors.data(), descriptors.size(), timeout) > 0) {
    for (size_t i = 0; i < relays_.size(); ++i)
      if (descriptors[i + 1].revents != 0) relays_[i].pump();
    std::vector<LineRelay> open;
    for (LineRelay& relay : relays_)
      if (relay.descriptor() >= 0) open.push_back(std::move(relay));
    relays_.swap(open);
    if (descriptors[0].revents != 0) read_signals();
  }
  if (kill_at_ && Clock::now() >= *kill_at_) {
    kill_at_.reset();
    signal_all(SIGKILL);
  }
}

void Launcher::read_signals() {
  for (signalfd_siginfo info; read(signals_, &info, sizeof(info)) == sizeof(info);) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) continue;
    if (signal == SIGUSR1 || signal == SIGUSR2) {  // what they mean is the program's affair
      signal_all(signal);
      continue;
    }
    signal_all(++passed_on_ == 1 ? signal : SIGKILL);
    if (request_.grace.count() > 0) kill_at_ = Clock::now() + request_.grace;
  }
  find_ended();
}

void Launcher::find_ended() {
  for (size_t i = 0; i < ranks_.size(); ++i) {
    // Ended ranks stay zombies until the end, so that nobody else can get the number of their process group.
    siginfo_t info{};
    if (!ranks_[i].ended) note_stop(ranks_[i]);
    if (ranks_[i].ended ||
        waitid(P_PID, static_cast<id_t>(ranks_[i].pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid == 0)
      continue;
    ranks_[i].ended = true;
    note_end(static_cast<int>(i), info.si_code != CLD_EXITED, info.si_status);
  }
  if (!request_.keep_going || !only_stopped_are_left()) return;
  for (const Rank& rank : ranks_) {
    if (rank.ended || kills_stopped_) continue;
    fmt::print(stderr, "weir run: rank {} (pid {}) is stopped and all other ranks have ended; killing it\n",
               &rank - ranks_.data(), rank.pid);
  }
  kills_stopped_ = true;
  signal_all(SIGKILL);
}

void Launcher::note_stop(Rank& rank) {
  siginfo_t info{};
  const auto id = static_cast<id_t>(rank.pid);
  while (waitid(P_PID, id, &info, WSTOPPED | WCONTINUED | WNOHANG) == 0 && info.si_pid != 0) {
    rank.stopped = info.si_code == CLD_STOPPED;
    info = {};
  }
}

bool Launcher::only_stopped_are_left() const {
  const auto lives = [](const Rank& rank) { return !rank.ended && !rank.stopped; };
  return ended_well_ && std::ranges::none_of(ranks_, lives);
}

void Launcher::note_end(int rank, bool killed, int status) {
  ended_well_ |= !killed && status == 0;
  if ((!killed && status == 0) || code_ != 0) return;
  const size_t others = running();
  const bool missed = request_.keep_going && killed && passed_on_ == 0;
  int& code = missed ? missed_ : code_;
  if (code == 0) code = killed ? 128 + status : status;
  if (passed_on_ > 0 || kills_stopped_) return;  // the launcher itself ended the rank
  const std::string_view then = missed ? "the other {} continue" : "stopping the other {}";
  std::string how = killed ? fmt::format("was killed by signal {} ({})", status, strsignal(status))
                           : fmt::format("exited with code {}", status);
  fmt::print(stderr, "weir run: rank {} (pid {}) {}{}\n", rank, ranks_[static_cast<size_t>(rank)].pid, how,
             others > 0 ? "; " + fmt::format(fmt::runtime(then), others) : "");
  if (others == 0 || missed) return;
  signal_all(SIGTERM);
  signal_all(SIGCONT);  // a stopped process cannot handle SIGTERM
  kill_at_ = Clock::now() + kAfterDeath;
}

/// Signals the process groups of all ranks that have not ended.
void Launcher::signal_all(int signal) {
  for (const Rank& rank : ranks_)
    if (!rank.ended) kill(-rank.pid, signal);
}

void Launcher::end_what_is_left() {
  for (const Rank& rank : ranks_) kill(-rank.pid, SIGKILL);
  while (true) {
    // Descendants that left their group become children of this process when their parents end.
    std::ifstream children(fmt::format("/proc/self/task/{}/children", gettid()));
    for (pid_t pid = 0; children >> pid;) kill(pid, SIGKILL);
    if (waitpid(-1, nullptr, 0) < 0 && errno == ECHILD) return;
  }
}

}  // namespace weir::cli
