// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/any.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "src/base/text.h"
#include "topology/formats/fabric_file.h"
#include "topology/formats/hwloc_xml.h"
#include "topology/formats/ibnetdiscover.h"
#include "topology/formats/nccl_xml.h"
#include "topology/formats/nvidia_smi.h"
#include "topology/formats/rocm_smi.h"
#include "topology/formats/slurm_topology.h"
#include "topology/formats/synthetic.h"
#include "topology/formats/topology_yaml.h"
#include "topology/model/check.h"

namespace weir::topology {
namespace {

/// The name of the first element of an XML file, after comments and declarations; empty: not XML.
std::string_view root_of(std::string_view text) {
  for (size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at + 1)) {
    const std::string_view rest = text.substr(at + 1);
    if (rest.starts_with("!--")) {
      at = text.find("-->", at);
      if (at == std::string_view::npos) break;
    } else if (!rest.starts_with('?') && !rest.starts_with('!')) {
      return rest.substr(0, rest.find_first_of(" \t\r\n/>"));
    }
  }
  return {};
}

/// The first line that is neither empty nor a comment.
std::string_view first_line(std::string_view text) {
  Lines lines(text);
  for (std::string_view line; lines.next(line);) {
    line = trim(line);
    if (!line.empty() && !line.starts_with('#')) return line;
  }
  return {};
}

bool has_word(std::string_view line, std::string_view word) {
  const auto all = words(line);
  return std::find(all.begin(), all.end(), word) != all.end();
}

/// Compares without regard to case.
bool begins_with_any(std::string_view line, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](std::string_view beginning) {
    return equals_ignoring_case(line.substr(0, beginning.size()), beginning);
  });
}

Result<Graph> read_xml(const Source& source, Notes* notes) {
  const std::string_view root = root_of(source.text);
  if (root == "topology") {
    auto document = read_hwloc_xml(source, notes);
    return document.ok() ? graph_of(*document, notes) : document.status();
  }
  if (root == "graphs") {
    return refuse(source, 1, "this is an NCCL graph file with rings and trees; expected a topology");
  }
  auto file = read_nccl_xml(source, notes);
  if (!file.ok()) return file.status();
  return std::move(file->graph);
}

Result<Graph> read_by_beginning(const Source& source, Notes* notes) {
  const std::string_view line = first_line(source.text);
  if (line.empty()) return refuse(source, 1, "the file is empty; expected a topology");
  if (line.starts_with('<')) return read_xml(source, notes);
  if (has_word(line, "GPU0") || line.starts_with("GPU0") || line.starts_with("\x1b[4m")) {
    auto matrix = read_nvidia_smi(source, notes);
    return matrix.ok() ? graph_of(*matrix, notes) : matrix.status();
  }
  if (line.starts_with("===") || line.starts_with("WARNING")) {
    auto matrix = read_rocm_smi(source, notes);
    return matrix.ok() ? graph_of(*matrix, notes) : matrix.status();
  }
  if (line.starts_with("weir ")) {
    auto fabric = read_fabric_file(source, notes);
    return fabric.ok() ? graph_of(*fabric) : fabric.status();
  }
  if (begins_with_any(line, {"vendid=", "Switch\t", "SW ", "CA ", "DR path", "Chassis"})) {
    auto fabric = read_ibnetdiscover(source, notes);
    return fabric.ok() ? graph_of(*fabric, notes) : fabric.status();
  }
  if (begins_with_any(line, {"switchname", "blockname", "blocksizes"})) {
    auto topology = read_slurm_topology(source, notes);
    return topology.ok() ? graph_of(*topology) : topology.status();
  }
  if (begins_with_any(line, {"---", "- ", "%yaml"}) || line.ends_with(':')) {
    auto topologies = read_topology_yaml(source, notes);
    return topologies.ok() ? graph_of(*topologies) : topologies.status();
  }
  auto machine = read_synthetic({source.name, trim(source.text)});
  if (!machine.ok()) return machine.status();
  return graph_of(*machine);
}

}  // namespace

Result<Graph> read_any(const Source& source, Notes* notes) {
  Result<Graph> graph = read_by_beginning(source, notes);
  if (!graph.ok()) return graph;
  if (Status sound = check(*graph); !sound.ok()) return refuse(source, 1, sound.message());
  return graph;
}

}  // namespace weir::topology
