// SPDX-License-Identifier: Apache-2.0
/// The parts of graph_of(HwlocXml). Internal to hwloc_xml_*.cc.
/// Tests: tests/topology/hwloc_graph_test.cc
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "topology/formats/cpu_set.h"
#include "topology/formats/hwloc_xml.h"

namespace weir::topology::hwloc {

struct Numa {
  Index node = kNone;
  CpuSet cpus;
};

/// The position in the machine of an object without a node of its own.
struct DevicePosition {
  Index parent = kNone;      ///< parent of the devices found there
  std::vector<Index> numas;  ///< NUMA nodes to which these devices are connected
};

/// A graph under construction, with the data that later parts need from earlier ones.
struct Build {
  const HwlocXml& document;
  Notes* notes;
  Graph graph{};
  Index host = kNone;
  std::vector<Numa> numas{};  ///< NUMA nodes with processors, one per set of processors
  /// GPUs (by PCI device and by the devices of their libraries) and NVSwitches (by PCI device).
  std::unordered_map<const HwlocObject*, Index> nodes{};
  std::unordered_map<const HwlocObject*, DevicePosition> places{};
  std::unordered_map<std::string, int> names{};      ///< number of requests for each name; see free_name()
  std::unordered_set<std::string> gpu_names{};       ///< names given by the libraries
  std::set<std::pair<uint32_t, int>> gpu_numbers{};  ///< vendor and number
  int split_gpus = 0;

  Status refuse(const std::string& sentence) const {
    return {Code::invalid_argument, "hwloc XML: " + sentence};
  }
  /// Reports an omission: a note if the caller takes notes, else an error.
  Status leave_out(const std::string& sentence) const;
  /// `name`, with a number appended if a sibling of that kind has it.
  std::string free_name(Index parent, NodeKind kind, const std::string& name);
  /// The position of an object that is not a device.
  const DevicePosition& place_of(const HwlocObject& object);
};

/// The nodes above a device on its path to the processors.
struct Above {
  enum class Stage { processors, root_bus, port, inside_switch };

  const DevicePosition* place = nullptr;
  Index bridge = kNone;  ///< kNone: connected to the position's NUMA nodes
  Stage stage = Stage::processors;
  double port_gb_per_s = 0;  ///< speed of the port above that is not a node, if any
  uint32_t vendor = 0;       ///< vendor of the switch

  Index parent() const { return bridge == kNone ? place->parent : bridge; }
};

/// A link of kind pci to the node above; the speed is the object's or that of the port above it.
void connect_above(Build& build, Index node, const HwlocObject& object, const Above& above);

/// Adds the host, its packages and NUMA nodes.
Status add_processors(Build& build);
/// Adds all devices below them on PCI, and network devices that are not on PCI.
Status add_devices(Build& build);
/// Adds a PCI function that is a GPU, or a GPU that is split into several.
Status add_gpus(Build& build, const HwlocObject& object, const PciFacts& pci, const Above& above);
/// Adds a NIC: a PCI function, or an operating-system device without one, and its ports.
void add_nic(Build& build, const HwlocObject& object, const PciFacts& pci, const Above& above);
/// Adds the NVLink and xGMI links of the matrices.
Status add_gpu_links(Build& build);

}  // namespace weir::topology::hwloc
