#include "src/cli/topo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "src/drivers/machine.h"
#include "topology/detect/detect.h"
#include "topology/formats/any.h"
#include "topology/formats/nccl_xml.h"
#include "topology/model/derive.h"
#include "topology/views/json.h"
#include "topology/views/matrix.h"
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
  if (std::filesystem::is_directory(file, error))
    return Status(Code::invalid_argument,
                  fmt::format("{} is a folder; expected a file (recorded machines: --replay)", file));
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) return Status(Code::system_error, fmt::format("{} cannot be read", file));
  return std::move(text).str();
}

Result<Detected> from_file(const TopoArguments& arguments) {
  const Result<std::string> text = text_of(arguments.file);
  if (!text.ok()) return text.status();
  topology::Notes notes;
  const bool is_line = text.value() == arguments.file;
  Result<topology::Graph> graph = topology::read_any({is_line ? "the line" : arguments.file, text.value()},
                                                     arguments.strict ? nullptr : &notes);
  if (!graph.ok()) return graph.status();
  Detected detected{std::move(*graph), {}};
  for (std::string& note : notes)
    detected.findings.push_back({"file", Finding::Kind::doubt, std::move(note)});
  return detected;
}

Result<Detected> from_machine(const TopoArguments& arguments) {
  std::unique_ptr<drivers::Machine> machine;
  if (!arguments.record.empty() || !arguments.replay.empty()) {
    auto made = arguments.record.empty() ? drivers::replay_machine(arguments.replay)
                                         : drivers::record_machine(arguments.record);
    if (!made.ok()) return made.status();
    machine = std::move(*made);
  } else {
    machine = drivers::this_machine();
  }
  Detected detected = topology::detect(*machine);
  WEIR_TRY(machine->error());
  return detected;
}

std::string show(const topology::Graph& graph, const TopoArguments& arguments) {
  if (arguments.json) return topology::json_of(graph);
  if (arguments.xml) return topology::write_nccl_xml({topology::dialect_of(graph), graph});
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

void add_topo(CLI::App& app, TopoArguments& arguments) {
  CLI::App* topo =
      app.add_subcommand("topo", "Show the topology of this machine, of a recorded one, or of a file");
  topo->add_option(
      "file", arguments.file,
      "NCCL, RCCL or hwloc XML, nvidia-smi topo -m, rocm-smi --showtopo, ibnetdiscover, Slurm's "
      "topology.conf or "
      "topology.yaml, a fabric file, or a machine in a line: \"2 x (8 gpu nvswitch 450, 8 nic 50) leaf\"");
  auto* record =
      topo->add_option("--record", arguments.record, "Keep everything that is asked in this folder");
  topo->add_option("--replay", arguments.replay, "Show the machine that was recorded in this folder")
      ->excludes(record);
  topo->add_flag("--matrix", arguments.matrix, "GPUs and NICs against each other: path classes and GB/s");
  topo->add_flag("--json", arguments.json, "As JSON");
  topo->add_flag("--xml", arguments.xml, "As a topology file for NCCL (or RCCL, for AMD's GPUs)");
  topo->add_option("-o,--out", arguments.out, "Write to this file");
  topo->add_flag("--strict", arguments.strict, "Refuse files with anything that is not understood");
  topo->add_flag("--why", arguments.why, "Say what was found, and why not more");
}

int run_topo(const TopoArguments& arguments) {
  Result<Detected> detected = arguments.file.empty() ? from_machine(arguments) : from_file(arguments);
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

}  // namespace weir::cli
