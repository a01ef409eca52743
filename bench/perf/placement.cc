// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/placement.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <optional>

namespace weir::perf {
namespace {

/// Variables that a launcher sets equally for all processes of a job, and differently for other jobs.
constexpr const char* kJobNames[] = {
    "MASTER_ADDR",  "MASTER_PORT",   "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid",
    "SLURM_JOB_ID", "SLURM_STEP_ID", "NCCL_COMM_ID"};

std::string job_name(const Lookup& lookup, int parent) {
  std::string name;
  for (const char* key : kJobNames)
    if (const char* value = lookup(key)) name += fmt::format("-{}", value);
  if (name.empty()) name = fmt::format("-{}", parent);
  // Socket names are short; a hash replaces the part that is cut off.
  return fmt::format("weir-perf-{}-{:016x}{:.40}", getuid(), std::hash<std::string>()(name), name);
}

/// "host:port" into its parts, [brackets] of IPv6 addresses removed.
bool split_address(std::string text, std::string* host, int* port) {
  size_t colon = text.rfind(':');
  if (colon == std::string::npos) return false;
  std::optional<int> parsed = number_in(text.c_str() + colon + 1);
  if (!parsed || *parsed <= 0 || *parsed >= 65535) return false;
  *port = *parsed;
  *host = text.substr(0, colon);
  if (host->size() > 2 && host->front() == '[' && host->back() == ']')
    *host = host->substr(1, host->size() - 2);
  return !host->empty();
}

Outcome find_meeting_point(const Lookup& lookup, Placement* placement) {
  int port = 0;
  if (const char* master = lookup("MASTER_ADDR")) {
    placement->host = master;
    port = number_in(lookup("MASTER_PORT")).value_or(29500);
    // torchrun's own store uses MASTER_PORT.
    if (lookup("TORCHELASTIC_RUN_ID") != nullptr) ++port;
  } else if (const char* id = lookup("NCCL_COMM_ID")) {
    if (!split_address(id, &placement->host, &port))
      return Outcome::failure(ExitCode::usage, fmt::format("NCCL_COMM_ID is '{}'; expected host:port", id));
    ++port;  // the library listens on the port of NCCL_COMM_ID
  } else {
    return Outcome::failure(
        ExitCode::usage,
        fmt::format(
            "the meeting address of the {} processes on several hosts is unknown; set MASTER_ADDR (and "
            "MASTER_PORT), or NCCL_COMM_ID, to an address of the first process",
            placement->size));
  }
  placement->port = fmt::format("{}", port);
  return Outcome();
}

bool is_loopback(const char* host) {
  return host != nullptr && (std::strncmp(host, "127.", 4) == 0 || std::strcmp(host, "localhost") == 0 ||
                             std::strcmp(host, "::1") == 0);
}

}  // namespace

Outcome find_placement(const Lookup& lookup, int parent, Placement* placement) {
  *placement = Placement();
  if (const std::optional<Launched> found = find_launched(lookup)) {
    if (!found->wrong.empty()) return Outcome::failure(ExitCode::usage, found->wrong);
    placement->rank = found->rank;
    placement->size = found->size;
    placement->one_host = found->size == 1 || found->local_size == found->size ||
                          is_loopback(lookup("MASTER_ADDR")) ||
                          number_in(lookup("SLURM_STEP_NUM_NODES")) == 1;
    placement->local_rank = found->local_rank.value_or(placement->one_host ? found->rank : 0);
    placement->local_size = found->local_size.value_or(placement->one_host ? found->size : 1);
  }
  if (placement->size == 1) return Outcome();
  if (!placement->one_host) return find_meeting_point(lookup, placement);
  placement->name = job_name(lookup, parent);
  return Outcome();
}

}  // namespace weir::perf
