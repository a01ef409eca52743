// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <array>

#include "topology/detect/probe.h"
#include "topology/formats/ibnetdiscover.h"
#include "topology/model/derive.h"
#include "topology/model/merge.h"

namespace weir::topology {

void probe_subnet(Probe& probe) {
  const Result<std::string> text = probe.machine.subnet();
  if (!text.ok()) return probe.doubt(text.status().message());
  Notes notes;
  Result<IbFabric> fabric = read_ibnetdiscover({"subnet", text.value()}, &notes);
  Result<Graph> switches = fabric.ok() ? graph_of(*fabric, &notes) : fabric.status();
  if (!switches.ok()) return probe.doubt(switches.status().message());
  // Ports are recognised by their GUIDs.
  const std::array<Graph, 2> parts = {probe.graph, std::move(*switches)};
  Result<Graph> merged = merge(parts);
  if (!merged.ok()) return probe.doubt(merged.status().message());
  probe.graph = std::move(*merged);
  probe.found(fmt::format("an InfiniBand subnet of {} hosts and {} switches, {} of them leaves",
                          probe.graph.all(NodeKind::host).size(),
                          probe.graph.all(NodeKind::fabric_switch).size(), leaves(probe.graph).size()));
  for (std::string& note : notes) probe.doubt(std::move(note));
}

}  // namespace weir::topology
