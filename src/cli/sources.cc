// SPDX-License-Identifier: Apache-2.0

#include "src/cli/sources.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <utility>

#include "topology/detect/doctor.h"
#include "topology/detect/read_files.h"

namespace weir::cli {
namespace {

Result<topology::Detected> from_files(const Sources& sources) {
  topology::Notes notes;
  Result<topology::Graph> graph = topology::read_files(sources.files, sources.strict ? nullptr : &notes);
  if (!graph.ok()) return graph.status();
  topology::Detected detected{std::move(*graph), {}};
  for (std::string& note : notes)
    detected.findings.push_back({"file", topology::Finding::Kind::doubt, std::move(note)});
  return detected;
}

Result<std::unique_ptr<drivers::Machine>> machine_of(const Sources& sources) {
  if (!sources.replay.empty()) return drivers::replay_machine(sources.replay);
  if (!sources.record.empty()) return drivers::record_machine(sources.record);
  return drivers::this_machine();
}

/// Replaces unknown rates by assumptions, and adds the finding that names them.
Status assume_missing(topology::Detected& detected, const Sources& sources) {
  const auto preferred = topology::parse_assumed_rates(sources.assume);
  if (!preferred.ok()) return {preferred.status().code(), "--assume: " + preferred.status().message()};
  if (detected.graph.all(topology::NodeKind::gpu).empty() &&
      detected.graph.all(topology::NodeKind::host).size() == 1)
    detected.findings.push_back({"ranks", topology::Finding::Kind::doubt,
                                 "the topology has one host and no GPUs; the host is the only rank"});
  const std::string assumed = topology::assume_rates(detected.graph, *preferred);
  if (assumed.empty()) return {};
  detected.findings.push_back(
      {"assumed", topology::Finding::Kind::doubt, assumed + "; --assume sets other rates"});
  return {};
}

Result<topology::Detected> from_machine(const Sources& sources, std::unique_ptr<drivers::Machine>& machine) {
  auto made = machine_of(sources);
  if (!made.ok()) return made.status();
  machine = std::move(*made);
  topology::DetectOptions options;
  if (sources.subnet) options.subnet = topology::DetectOptions::Subnet::always;
  options.lldp_socket = sources.lldp_socket;
  topology::Detected detected = topology::detect(*machine, options);
  // The recording must also contain what `weir doctor` reads.
  if (!sources.record.empty()) topology::diagnose_host(*machine, detected.graph);
  WEIR_TRY(machine->error());
  return detected;
}

}  // namespace

void add_sources(CLI::App* command, Sources& sources, MissingRates missing_rates) {
  sources.missing_rates = missing_rates;
  if (missing_rates == MissingRates::assume) {
    command->add_option(
        "--assume", sources.assume,
        "Rates in GB/s of links for which the topology gives none, instead of those that weir "
        "assumes: \"nvlink=25,xgmi=50,pcie=31.5,nic=25\"; also c2c, cpu and network");
  }
  command->add_option("file,--topo", sources.files,
                      "Topology file: NCCL, RCCL or hwloc XML, nvidia-smi topo -m, rocm-smi --showtopo, "
                      "amd-smi topology, ibnetdiscover, scontrol show topology, Slurm's "
                      "topology.conf or topology.yaml, a fabric file; or a one-line machine description: \"2 "
                      "x (8 gpu nvswitch 450, 8 "
                      "nic 50) leaf\". "
                      "Several are merged. Default: this machine.");
  auto* record = command->add_option(
      "--record", sources.record, "Record all that is read from this machine in this folder, for --replay");
  command->add_option("--replay", sources.replay, "Use the machine that was recorded in this folder")
      ->excludes(record);
  command->add_flag(
      "--subnet", sources.subnet,
      "Query the InfiniBand subnet even if weir cannot see that this process has the permission");
  command->add_option("--lldp", sources.lldp_socket, "Path of lldpd's socket; default: the usual one");
  command->add_flag("--strict", sources.strict, "Refuse files that contain anything unknown");
  command->add_flag("--why", sources.why, "Print what was found, and why other sources gave nothing");
}

Result<topology::Detected> look(const Sources& sources, std::unique_ptr<drivers::Machine>& machine) {
  auto detected = sources.files.empty() ? from_machine(sources, machine) : from_files(sources);
  WEIR_TRY(detected.status());
  if (sources.missing_rates == MissingRates::assume) WEIR_TRY(assume_missing(*detected, sources));
  return detected;
}

void print_findings(const topology::Detected& detected, const Sources& sources) {
  using Kind = topology::Finding::Kind;
  for (const topology::Finding& finding : detected.findings) {
    if (!sources.why && finding.kind != Kind::doubt) continue;
    const char* const mark = finding.kind == Kind::found    ? "found"
                             : finding.kind == Kind::absent ? "no"
                                                            : "note";
    fmt::print(stderr, "{}: {}: {}\n", mark, finding.probe, finding.sentence);
  }
}

}  // namespace weir::cli
