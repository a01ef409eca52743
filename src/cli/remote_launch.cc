// SPDX-License-Identifier: Apache-2.0

#include "src/cli/remote_launch.h"

#include <fmt/format.h>

#include <filesystem>

#include "src/cli/launch_part.h"
#include "src/cli/words.h"

namespace weir::cli {
namespace {

/// For a shell.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char letter : text) out += letter == '\'' ? "'\\''" : std::string(1, letter);
  return out + "'";
}

}  // namespace

Result<std::vector<LaunchedProcess>> host_processes(LaunchRequest request,
                                                    const std::vector<HostRanks>& hosts,
                                                    std::string_view remote_shell) {
  const auto secret = random_secret(request);
  WEIR_TRY(secret.status());
  if (!secret->empty()) request.environment.emplace_back("WEIR_SECRET", *secret);
  const auto ports = free_ports();
  WEIR_TRY(ports.status());
  std::string address = request.comm_id.value_or("");
  if (address.empty()) {
    const auto first = meeting_address(hosts);
    WEIR_TRY(first.status());
    if (!request.comm_id) request.comm_id = fmt::format("{}:{}", *first, ports->first);
    address = *first;
  } else {
    address = address.substr(0, address.rfind(':'));
  }
  if (address.starts_with('[') && address.ends_with(']')) address = address.substr(1, address.size() - 2);
  request.environment.emplace_back("MASTER_ADDR", address);
  request.environment.emplace_back("MASTER_PORT", std::to_string(ports->second));
  request.host_ranks.clear();
  for (const HostRanks& host : hosts) request.host_ranks.push_back(host.ranks);
  std::vector<LaunchedProcess> processes;
  for (const HostRanks& host : hosts) {
    request.host = static_cast<int>(processes.size());
    LaunchedProcess& process = processes.emplace_back();
    process.name = fmt::format("host {}", host.name);
    process.spec.command = split(remote_shell, ' ');
    process.spec.command.push_back(host.name);
    process.spec.command.push_back(
        fmt::format("exec {} run --part", quoted(std::filesystem::read_symlink("/proc/self/exe").string())));
    process.spec.capture = !request.plain;
    process.spec.input = part_of(request);
  }
  return processes;
}

}  // namespace weir::cli
