// SPDX-License-Identifier: Apache-2.0

#include "src/cli/rank_processes.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <random>

#include "src/net/secret.h"
#include "weir/launched.h"

namespace weir::cli {
namespace {

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

/// The variables of other launchers, inside which this one may run: its ranks have numbers of their own.
std::vector<std::string> other_launchers() {
  std::vector<std::string> names;
  for (const LauncherVariables& launcher : kLaunchers)
    for (const char* name : {launcher.rank, launcher.size, launcher.local_rank, launcher.local_size})
      names.emplace_back(name);
  return names;
}

/// Ranks of one host.
struct RankRange {
  int first = 0;
  int count = 1;
};

/// REQUIRES: request.host_ranks has this host.
RankRange ranks_of(const LaunchRequest& request, int host) {
  const auto begin = request.host_ranks.begin();
  return {std::accumulate(begin, begin + host, 0), begin[host]};
}

RankRange ranks_beside(const LaunchRequest& request, int rank) {
  for (int host = 0; host < static_cast<int>(request.host_ranks.size()); ++host) {
    const RankRange range = ranks_of(request, host);
    if (rank < range.first + range.count) return range;
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
  const RankRange beside = ranks_beside(request, rank);
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
  Result<std::pair<int, int>> ports =
      Status(Code::system_error,
             fmt::format("there is no free port on the loopback interface: {}", strerror(errno)));
  if (taken.size() == 2) ports = std::pair(port_of(taken[0]), port_of(taken[1]));
  for (const int fd : taken) close(fd);
  return ports;
}

Result<std::string> random_secret(const LaunchRequest& request) {
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

Result<std::vector<LaunchedProcess>> rank_processes(const LaunchRequest& request) {
  const RankRange started = request.host < 0 ? RankRange{0, request.ranks} : ranks_of(request, request.host);
  auto binding = CoreBinding::make(request.bind, started.count);
  WEIR_TRY(binding.status());
  const auto shared = std::make_shared<const CoreBinding>(std::move(*binding));
  const auto ports = free_ports();
  WEIR_TRY(ports.status());
  const std::string comm_id = request.comm_id.value_or(fmt::format("{}:{}", own_address(), ports->first));
  const auto secret = random_secret(request);
  WEIR_TRY(secret.status());
  std::vector<LaunchedProcess> processes;
  for (int rank = started.first; rank < started.first + started.count; ++rank) {
    LaunchedProcess& process = processes.emplace_back();
    process.name = fmt::format("rank {}", rank);
    process.prefix = fmt::format("[{}] ", rank);
    process.spec.command = request.command;
    process.spec.environment = rank_environment(request, rank, comm_id, *secret, ports->second);
    process.spec.unset = other_launchers();
    process.spec.binding = shared;
    process.spec.place = rank - started.first;
    process.spec.capture = !request.plain;
  }
  return processes;
}

}  // namespace weir::cli
