// SPDX-License-Identifier: Apache-2.0
/// The parts of graph_of(HwlocXml). Internal to hwloc_xml_*.cc.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "topology/formats/cpu_set.h"
#include "topology/formats/hwloc_xml.h"

namespace weir::topology::hwloc {

struct Numa {
  Index node = kNone;
  CpuSet cpus;
};

/// Where in the machine an object of processors (or of the whole) is.
struct Place {
  Index parent = kNone;      ///< what holds the devices that are found there
  std::vector<Index> numas;  ///< what these are connected to
};

/// A graph in the making, and what its later parts must know of the earlier ones.
struct Build {
  const HwlocXml& document;
  Notes* notes;
  Graph graph{};
  Index host = kNone;
  std::vector<Numa> numas{};  ///< those with processors, one of each set of processors
  /// GPUs (by PCI device and by the devices of their libraries) and NVSwitches (by PCI device).
  std::unordered_map<const HwlocObject*, Index> nodes{};
  std::unordered_map<const HwlocObject*, Place> places{};
  std::unordered_map<std::string, int> names{};  ///< how often a name was asked for; see free_name()
  std::unordered_set<std::string> gpu_names{};   ///< of the libraries
  int split_gpus = 0;

  Status refuse(const std::string& sentence) const {
    return {Code::invalid_argument, "hwloc XML: " + sentence};
  }
  /// For what may be left out: a note where the caller wants notes, else an error.
  Status leave_out(const std::string& sentence) const;
  /// `name`, or that with a number behind it where a sibling of that kind has it.
  std::string free_name(Index parent, NodeKind kind, const std::string& name);
  /// Where an object that is no device is.
  const Place& place_of(const HwlocObject& object);
};

/// What is above a device on its way to the processors.
struct Above {
  enum class Stage { processors, root_bus, port, inside_switch };

  const Place* place = nullptr;
  Index bridge = kNone;  ///< kNone: the NUMA nodes of the place
  Stage stage = Stage::processors;
  double port_gb_per_s = 0;  ///< of the port that is no node, if there is one
  uint32_t vendor = 0;       ///< of the switch

  Index parent() const { return bridge == kNone ? place->parent : bridge; }
};

/// A link of kind pci to what is above; the speed is the object's or that of the port above it.
void connect_above(Build& build, Index node, const HwlocObject& object, const Above& above);

/// The host, its packages and NUMA nodes.
Status add_processors(Build& build);
/// All below them that is attached by PCI, and network devices that are not.
Status add_devices(Build& build);
/// A PCI function that is a GPU, or a GPU that is split into several.
Status add_gpus(Build& build, const HwlocObject& object, const PciFacts& pci, const Above& above);
/// A PCI function or a device of the operating system without one, and its ports.
void add_nic(Build& build, const HwlocObject& object, const PciFacts& pci, const Above& above);
/// Links of NVLink and xGMI, from the matrices.
Status add_gpu_links(Build& build);

}  // namespace weir::topology::hwloc
