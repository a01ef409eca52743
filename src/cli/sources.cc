// SPDX-License-Identifier: Apache-2.0

#include "src/cli/sources.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>

#include "topology/detect/doctor.h"
#include "topology/formats/any.h"
#include "topology/model/check.h"
#include "topology/model/merge.h"

namespace weir::cli {
namespace {

/// A file's text; what is no file stands for itself.
Result<std::string> text_of(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    if (file.find('(') != std::string::npos) return file;
    return Status(Code::invalid_argument,
                  fmt::format("there is no file {}; expected a topology file, or a machine in a line such as "
                              "\"(8 gpu nvswitch 450, 8 nic 50)\"",
                              file));
  }
  return drivers::read_whole(file, topology::kMostBytes);
}

Result<topology::Graph> graph_of_file(const std::string& file, topology::Notes* notes) {
  const Result<std::string> text = text_of(file);
  if (!text.ok()) return text.status();
  const bool is_line = text.value() == file;
  return topology::read_any({is_line ? "the line" : file, text.value()}, notes);
}

Result<topology::Detected> from_files(const Sources& sources) {
  topology::Notes notes;
  std::vector<topology::Graph> graphs;
  for (const std::string& file : sources.files) {
    Result<topology::Graph> graph = graph_of_file(file, sources.strict ? nullptr : &notes);
    if (!graph.ok()) return graph.status();
    graphs.push_back(std::move(*graph));
  }
  topology::Detected detected;
  if (graphs.size() == 1) {  // checked where it was read; of 100,000 GPUs that takes seconds
    detected.graph = std::move(graphs[0]);
  } else {
    Result<topology::Graph> merged = topology::merge(graphs);
    if (!merged.ok()) return merged.status();
    WEIR_TRY(topology::check(*merged));
    detected.graph = std::move(*merged);
  }
  for (std::string& note : notes)
    detected.findings.push_back({"file", topology::Finding::Kind::doubt, std::move(note)});
  return detected;
}

Result<std::unique_ptr<drivers::Machine>> machine_of(const Sources& sources) {
  if (!sources.replay.empty()) return drivers::replay_machine(sources.replay);
  if (!sources.record.empty()) return drivers::record_machine(sources.record);
  return drivers::this_machine();
}

}  // namespace

void add_sources(CLI::App* command, Sources& sources) {
  command->add_option(
      "file,--topo", sources.files,
      "NCCL, RCCL or hwloc XML, nvidia-smi topo -m, rocm-smi --showtopo, ibnetdiscover, Slurm's "
      "topology.conf or topology.yaml, a fabric file, or a machine in a line: \"2 x (8 gpu nvswitch 450, 8 "
      "nic 50) leaf\". "
      "Several are merged.");
  auto* record =
      command->add_option("--record", sources.record, "Keep everything that is asked in this folder");
  command->add_option("--replay", sources.replay, "Look at the machine that was recorded in this folder")
      ->excludes(record);
  command->add_flag("--subnet", sources.subnet,
                    "Ask the InfiniBand subnet, also without a right to that being seen");
  command->add_option("--lldp", sources.lldp_socket, "The socket of lldpd, if it is not the usual one");
  command->add_flag("--strict", sources.strict, "Refuse files with anything that is not understood");
  command->add_flag("--why", sources.why, "Say what was found, and why not more");
}

Result<topology::Detected> look(const Sources& sources, std::unique_ptr<drivers::Machine>& machine) {
  if (!sources.files.empty()) return from_files(sources);
  auto made = machine_of(sources);
  if (!made.ok()) return made.status();
  machine = std::move(*made);
  topology::DetectOptions options;
  if (sources.subnet) options.subnet = topology::DetectOptions::Subnet::always;
  options.lldp_socket = sources.lldp_socket;
  topology::Detected detected = topology::detect(*machine, options);
  // A record is to answer the doctor too.
  if (!sources.record.empty()) topology::diagnose_host(*machine, detected.graph);
  WEIR_TRY(machine->error());
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
