// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/any.h"

#include <fmt/format.h>

#include <algorithm>

#include "topology/formats/amd_smi.h"
#include "topology/formats/fabric_file.h"
#include "topology/formats/hwloc_xml.h"
#include "topology/formats/ibnetdiscover.h"
#include "topology/formats/nccl_xml.h"
#include "topology/formats/nvidia_smi.h"
#include "topology/formats/rocm_smi.h"
#include "topology/formats/slurm_topology.h"
#include "topology/formats/synthetic.h"
#include "topology/formats/topology_part.h"
#include "topology/formats/topology_yaml.h"
#include "topology/formats/unknown_format.h"
#include "topology/formats/utf_text.h"
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

/// Whether the text may be meant as a synthetic machine: it begins like one, or is a line with its words.
bool is_machine(std::string_view text) {
  const auto skip = [&text](std::string_view some) {
    text.remove_prefix(std::min(text.find_first_not_of(some), text.size()));
  };
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  skip(" \t\r\n");
  const bool one_line = text.find('\n') == std::string_view::npos;
  const bool named = text.find("gpu") != std::string_view::npos || text.find("nic") != std::string_view::npos;
  if (one_line && named) return true;
  skip(" \t\r\n0123456789");
  skip(" \t\r\nx");
  return text.starts_with('(');
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
  if (root != "system") {
    if (const std::string named = likely(source.text); !named.empty()) return refuse(source, 1, named);
  }
  auto file = read_nccl_xml(source, notes);
  if (!file.ok()) return file.status();
  return std::move(file->graph);
}

Result<Graph> read_line(const Source& source) {
  if (!is_machine(source.text)) return refuse(source, 1, guess(source.text));
  auto machine = read_synthetic({source.name, trim(source.text)});
  if (!machine.ok()) return machine.status();
  return graph_of(*machine);
}

Result<Graph> read_as(Format format, const Source& source, Notes* notes) {
  switch (format) {
    case Format::xml: return read_xml(source, notes);
    case Format::nvidia_smi: {
      auto matrix = read_nvidia_smi(source, notes);
      return matrix.ok() ? graph_of(*matrix, notes) : matrix.status();
    }
    case Format::rocm_smi: {
      auto matrix = read_rocm_smi(source, notes);
      return matrix.ok() ? graph_of(*matrix, notes) : matrix.status();
    }
    case Format::amd_smi: {
      auto matrix = read_amd_smi(source, notes);
      return matrix.ok() ? graph_of(*matrix, notes) : matrix.status();
    }
    case Format::fabric_file: {
      auto fabric = read_fabric_file(source, notes);
      return fabric.ok() ? graph_of(*fabric) : fabric.status();
    }
    case Format::ibnetdiscover: {
      auto fabric = read_ibnetdiscover(source, notes);
      return fabric.ok() ? graph_of(*fabric, notes) : fabric.status();
    }
    case Format::slurm_conf: {
      auto topology = read_slurm_topology(source, notes);
      return topology.ok() ? graph_of(*topology) : topology.status();
    }
    case Format::slurm_yaml: {
      auto topologies = read_topology_yaml(source, notes);
      return topologies.ok() ? graph_of(*topologies) : topologies.status();
    }
    case Format::unknown: break;
  }
  return read_line(source);
}

Result<Graph> read_text(const Source& source, Notes* notes) {
  if (std::string what; is_binary(source.text, what)) return refuse(source, 1, what);
  auto part = topology_part_of(source, notes);
  WEIR_TRY(part.status());
  return read_as(part->format, {source.name, part->changed ? part->text : source.text}, notes);
}

Result<Graph> read_encoded(const Source& source, Notes* notes) {
  if (!needs_decoding(source.text)) return read_text(source, notes);
  const auto text = utf8_of(source);
  WEIR_TRY(text.status());
  return read_text({source.name, *text}, notes);
}

}  // namespace

Result<Graph> read_any(const Source& source, Notes* notes) {
  Result<Graph> graph = read_encoded(source, notes);
  if (!graph.ok()) return graph;
  if (Status sound = check(*graph); !sound.ok()) return refuse(source, 1, sound.message());
  return graph;
}

}  // namespace weir::topology
