// SPDX-License-Identifier: Apache-2.0

#include "src/cli/topo.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>

#include "src/cli/doctor.h"
#include "src/cli/failure.h"
#include "topology/formats/fabric_file.h"
#include "topology/formats/nccl_xml.h"
#include "topology/model/derive.h"
#include "topology/views/html.h"
#include "topology/views/json.h"
#include "topology/views/matrix.h"
#include "topology/views/svg.h"
#include "topology/views/tree.h"

namespace weir::cli {
namespace {

/// A picture of the host if there is one, else of the network.
std::string svg_of(const topology::Graph& graph) {
  const std::vector<topology::Index> hosts = graph.all(topology::NodeKind::host);
  return hosts.size() == 1 && graph.all(topology::NodeKind::fabric_switch).empty()
             ? topology::svg_of_host(graph, hosts[0])
             : topology::svg_of_fabric(graph);
}

std::string text_of(const topology::Graph& graph, const TopoArguments& arguments) {
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
    if (std::find(classes.begin(), own, classes[i]) != own)
      continue;  // a host of this class was already shown
    if (!text.empty()) text += '\n';
    if (hosts.size() > 1) text += graph.describe(hosts[i]) + "\n";
    text += topology::matrix_of(graph, hosts[i]);
  }
  return text;
}

}  // namespace

void add_topo(CLI::App& app, TopoArguments& arguments) {
  CLI::App* topo =
      app.add_subcommand("topo", "Show the topology of this machine, of a recorded one, or of a file");
  add_sources(topo, arguments.sources, MissingRates::keep);
  topo->add_flag("--matrix", arguments.matrix,
                 "Print path class and GB/s between each pair of GPUs and NICs");
  topo->add_flag("--json", arguments.json, "Print as JSON");
  topo->add_flag("--xml", arguments.xml, "Print as a topology file for NCCL (or RCCL, for AMD GPUs)");
  topo->add_flag("--fabric", arguments.fabric, "Print as a fabric file (docs/fabric-file.md)");
  topo->add_flag("--svg", arguments.svg,
                 "Print an SVG picture of one host, or of the network of several hosts");
  topo->add_flag("--html", arguments.html, "Print an HTML page with the network and each kind of host");
  add_sources(app.add_subcommand(
                  "doctor", "Report what is wrong or slow on this machine, a recorded machine or in a file"),
              arguments.sources, MissingRates::keep);
}

int run_topo(const TopoArguments& arguments) {
  std::unique_ptr<drivers::Machine> machine;
  Result<topology::Detected> detected = look(arguments.sources, machine);
  if (!detected.ok()) return report_failure("topo", detected.status(), kExitUsage);
  print_findings(*detected, arguments.sources);
  fmt::print("{}", text_of(detected->graph, arguments));
  return 0;
}

int run_doctor(const TopoArguments& arguments) {
  std::unique_ptr<drivers::Machine> machine;
  Result<topology::Detected> detected = look(arguments.sources, machine);
  if (!detected.ok()) return report_failure("doctor", detected.status(), kExitUsage);
  print_findings(*detected, arguments.sources);
  return print_diagnoses(detected->graph, machine.get(),
                         arguments.sources.files.empty() && arguments.sources.replay.empty());
}

}  // namespace weir::cli
