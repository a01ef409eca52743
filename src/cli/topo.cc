#include "src/cli/topo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "src/cli/doctor.h"
#include "src/drivers/machine.h"
#include "topology/detect/detect.h"
#include "topology/detect/doctor.h"
#include "topology/formats/any.h"
#include "topology/formats/fabric_file.h"
#include "topology/formats/nccl_xml.h"
#include "topology/model/check.h"
#include "topology/model/derive.h"
#include "topology/model/merge.h"
#include "topology/views/html.h"
#include "topology/views/json.h"
#include "topology/views/matrix.h"
#include "topology/views/svg.h"
#include "topology/views/tree.h"

namespace weir::cli {
namespace {

using topology::Detected;
using topology::Finding;

constexpr int kExitUsage = 2;

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

Result<Detected> from_files(const TopoArguments& arguments) {
  topology::Notes notes;
  std::vector<topology::Graph> graphs;
  for (const std::string& file : arguments.files) {
    Result<topology::Graph> graph = graph_of_file(file, arguments.strict ? nullptr : &notes);
    if (!graph.ok()) return graph.status();
    graphs.push_back(std::move(*graph));
  }
  Result<topology::Graph> merged = topology::merge(graphs);
  if (!merged.ok()) return merged.status();
  WEIR_TRY(topology::check(*merged));
  Detected detected{std::move(*merged), {}};
  for (std::string& note : notes)
    detected.findings.push_back({"file", Finding::Kind::doubt, std::move(note)});
  return detected;
}

Result<std::unique_ptr<drivers::Machine>> machine_of(const TopoArguments& arguments) {
  if (!arguments.replay.empty()) return drivers::replay_machine(arguments.replay);
  if (!arguments.record.empty()) return drivers::record_machine(arguments.record);
  return drivers::this_machine();
}

/// What the arguments name. `machine` stays null where that is a file.
Result<Detected> look(const TopoArguments& arguments, std::unique_ptr<drivers::Machine>& machine) {
  if (!arguments.files.empty()) return from_files(arguments);
  auto made = machine_of(arguments);
  if (!made.ok()) return made.status();
  machine = std::move(*made);
  topology::DetectOptions options;
  if (arguments.subnet) options.subnet = topology::DetectOptions::Subnet::always;
  options.lldp_socket = arguments.lldp_socket;
  Detected detected = topology::detect(*machine, options);
  // A record is to answer the doctor too.
  if (!arguments.record.empty()) topology::advise_host(*machine, detected.graph);
  WEIR_TRY(machine->error());
  return detected;
}

/// Of one host that host, of several their network.
std::string svg_of(const topology::Graph& graph) {
  const std::vector<topology::Index> hosts = graph.all(topology::NodeKind::host);
  return hosts.size() == 1 && graph.all(topology::NodeKind::fabric_switch).empty()
             ? topology::svg_of_host(graph, hosts[0])
             : topology::svg_of_fabric(graph);
}

std::string show(const topology::Graph& graph, const TopoArguments& arguments) {
  if (arguments.json) return topology::json_of(graph);
  if (arguments.xml) return topology::write_nccl_xml({topology::dialect_of(graph), graph});
  if (arguments.html) return topology::html_of(graph);
  if (arguments.svg) return svg_of(graph);
  if (arguments.fabric) return topology::write_fabric_file(topology::fabric_of(graph));
  if (!arguments.matrix) return topology::tree_of(graph);
  std::string text;
  const std::vector<int> classes = topology::host_classes(graph);
  const std::vector<topology::Index> hosts = graph.all(topology::NodeKind::host);
  for (size_t i = 0; i < hosts.size(); ++i) {
    const auto own = classes.begin() + static_cast<ptrdiff_t>(i);
    if (std::find(classes.begin(), own, classes[i]) != own) continue;  // one host like it was shown
    if (!text.empty()) text += '\n';
    if (hosts.size() > 1) text += graph.describe(hosts[i]) + "\n";
    text += topology::matrix_of(graph, hosts[i]);
  }
  return text;
}

void print_findings(const std::vector<Finding>& findings, bool all) {
  for (const Finding& finding : findings) {
    if (!all && finding.kind != Finding::Kind::doubt) continue;
    const char* const mark = finding.kind == Finding::Kind::found    ? "found"
                             : finding.kind == Finding::Kind::absent ? "no"
                                                                     : "note";
    fmt::print(stderr, "{}: {}: {}\n", mark, finding.probe, finding.sentence);
  }
}

}  // namespace

namespace {

void add_sources(CLI::App* command, TopoArguments& arguments) {
  command->add_option(
      "file", arguments.files,
      "NCCL, RCCL or hwloc XML, nvidia-smi topo -m, rocm-smi --showtopo, ibnetdiscover, Slurm's "
      "topology.conf or "
      "topology.yaml, a fabric file, or a machine in a line: \"2 x (8 gpu nvswitch 450, 8 nic 50) leaf\". "
      "Several are merged.");
  auto* record =
      command->add_option("--record", arguments.record, "Keep everything that is asked in this folder");
  command->add_option("--replay", arguments.replay, "Look at the machine that was recorded in this folder")
      ->excludes(record);
  command->add_flag("--subnet", arguments.subnet,
                    "Ask the InfiniBand subnet, also without a right to that being seen");
  command->add_option("--lldp", arguments.lldp_socket, "The socket of lldpd, if it is not the usual one");
  command->add_flag("--strict", arguments.strict, "Refuse files with anything that is not understood");
  command->add_flag("--why", arguments.why, "Say what was found, and why not more");
}

}  // namespace

void add_topo(CLI::App& app, TopoArguments& arguments) {
  CLI::App* topo =
      app.add_subcommand("topo", "Show the topology of this machine, of a recorded one, or of a file");
  add_sources(topo, arguments);
  topo->add_flag("--matrix", arguments.matrix, "GPUs and NICs against each other: path classes and GB/s");
  topo->add_flag("--json", arguments.json, "As JSON");
  topo->add_flag("--xml", arguments.xml, "As a topology file for NCCL (or RCCL, for AMD's GPUs)");
  topo->add_flag("--fabric", arguments.fabric, "As a fabric file (docs/fabric-file.md)");
  topo->add_flag("--svg", arguments.svg, "As a picture: of one host, or of the network of several");
  topo->add_flag("--html", arguments.html, "As a page of its own: the network and each kind of host");
  topo->add_option("-o,--out", arguments.out, "Write to this file");
  add_sources(
      app.add_subcommand("doctor", "Say what is wrong or slow on this machine, a recorded one or in a file"),
      arguments);
}

int run_topo(const TopoArguments& arguments) {
  std::unique_ptr<drivers::Machine> machine;
  Result<Detected> detected = look(arguments, machine);
  if (!detected.ok()) {
    fmt::print(stderr, "weir topo: {}\n", detected.status().message());
    return kExitUsage;
  }
  print_findings(detected->findings, arguments.why);
  const std::string text = show(detected->graph, arguments);
  if (arguments.out.empty()) {
    fmt::print("{}", text);
    return 0;
  }
  std::ofstream file(arguments.out, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file) return 0;
  fmt::print(stderr, "weir topo: {} cannot be written\n", arguments.out);
  return 1;
}

int run_doctor(const TopoArguments& arguments) {
  std::unique_ptr<drivers::Machine> machine;
  Result<Detected> detected = look(arguments, machine);
  if (!detected.ok()) {
    fmt::print(stderr, "weir doctor: {}\n", detected.status().message());
    return kExitUsage;
  }
  print_findings(detected->findings, arguments.why);
  return print_advice(detected->graph, machine.get(), arguments.files.empty() && arguments.replay.empty());
}

}  // namespace weir::cli
