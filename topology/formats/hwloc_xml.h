// SPDX-License-Identifier: Apache-2.0
/// hwloc's XML: what `lstopo --of xml` and hwloc_topology_export_xml() write. One file is one host.
///
/// Source: hwloc's documentation and the files that hwloc 1.x (no version, NUMA nodes hold their processors),
/// 2.x (version="2.0", NUMA nodes stand beside them) and 3.0 (version="3.0", other numbers for OS devices)
/// write. Units: memory in bytes, pci_link_speed in GB/s of the whole link, bandwidth matrices in MB/s per
/// direction. Read with our own XML reader: libhwloc would refuse newer versions and repair older ones.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "topology/formats/source.h"
#include "topology/model/graph.h"

namespace weir::topology {

using HwlocPairs = std::vector<std::pair<std::string, std::string>>;  ///< name and value, in order

/// An element that means nothing to us, as it stands in the file.
struct HwlocElement {
  std::string name;
  HwlocPairs attributes;
  std::string text;
  std::vector<HwlocElement> children;

  bool operator==(const HwlocElement&) const = default;
};

/// Latencies between the objects of one depth below an object (hwloc 1), relative to `base`.
struct HwlocLatencies {
  int relative_depth = 0;
  double base = 0;
  int objects = 0;
  std::vector<double> values;  ///< row by row

  bool operator==(const HwlocLatencies&) const = default;
};

/// An empty text, -1 or 0 where an attribute is missing.
struct HwlocObject {
  std::string type;  ///< "Machine", "Package", "NUMANode", "Bridge", "PCIDev", "OSDev", ...
  int64_t os_index = -1;
  int64_t gp_index = 0;  ///< the same number from a 3.0 file's id="objN"
  std::string name;
  std::string subtype;
  std::string cpuset;   ///< see CpuSet::parse_words
  std::string nodeset;  ///< the same of NUMA nodes
  int64_t local_memory = -1;
  std::string pci_busid;  ///< "0000:3b:00.0"
  std::string
      pci_type;  ///< "0302 [10de:2335] [10de:18bf] a1": class, vendor and device, subsystem's, revision
  double pci_link_speed = -1;  ///< 0 in files: not known
  std::string bridge_type;     ///< "0-1": from the host to PCI; "1-1": from PCI to PCI
  std::string bridge_pci;      ///< "0000:[3b-40]": the buses below
  int depth = -1;
  int osdev_type = -1;
  HwlocPairs infos;
  HwlocPairs attributes;             ///< all others
  std::vector<HwlocElement> others;  ///< page types, user data
  std::vector<HwlocLatencies> latencies;
  std::vector<HwlocObject> children;

  bool operator==(const HwlocObject&) const = default;
};

struct HwlocReference {
  std::string type;   ///< empty where the matrix says it for all
  int64_t index = 0;  ///< os_index or gp_index

  bool operator==(const HwlocReference&) const = default;
};

/// A matrix between objects: distances2, or distances2hetero for objects of several types.
struct HwlocDistances {
  std::string name;  ///< "NUMALatency", "NVLinkBandwidth", "XGMIBandwidth", "XGMIHops"
  int kind = 0;      ///< hwloc's mask
  std::string type;  ///< empty: several
  bool by_os_index = false;
  std::vector<HwlocReference> objects;
  std::vector<uint64_t> values;  ///< row by row

  bool operator==(const HwlocDistances&) const = default;
};

struct HwlocXml {
  std::string version;  ///< empty: hwloc 1; "2.0", "3.0"
  HwlocObject machine;
  std::vector<HwlocDistances> distances;
  HwlocPairs infos;                  ///< of the whole (3.0)
  std::vector<HwlocElement> others;  ///< supports, memory attributes, kinds of CPU, ...

  bool operator==(const HwlocXml&) const = default;
};

/// Errors: not well-formed XML, another root or version, fields that do not read, indices that occur twice,
/// matrices that do not have all values or name objects that are not there. To notes: PCI addresses that
/// occur twice, types of objects and elements that are not known (all these are kept in the value), unknown
/// attributes where there should be none, stray text (left out).
Result<HwlocXml> read_hwloc_xml(const Source& source, Notes* notes = nullptr);

/// hwloc of the same or a later major version loads it.
std::string write_hwloc_xml(const HwlocXml& document);

/// One host with its packages, NUMA nodes, PCIe trees, GPUs, NICs with ports, NVSwitches, and what connects
/// them.
///
/// Processors: where the file has no NUMA node, hwloc means one that is the whole machine. NUMA nodes with
/// processors are connected pairwise (kind cpu, no speed: hwloc's latencies are relative). Family and model
/// are written as NCCL does (family 23 is 143: 15 + (8 << 4)).
///
/// PCIe: a host bridge is a root bridge, placed at the NUMA node of its processors; if it belongs to several,
/// it hangs at their package or the host and has a link to each. Below it come root ports, then pairs of
/// upstream and downstream port. Root ports and downstream ports (bridges below a switch, of its vendor) are
/// no nodes: one bridge node is one switch. A bridge below a root port, a downstream port or a switch of
/// another vendor is a node, so conventional bridges stay. What leads to no GPU, NIC or NVSwitch is left out.
/// Links have the speed of the lower end, or of the port above where that has none; 0: not known. It is what
/// the link ran at when the file was written: GPUs that idle slow theirs down.
///
/// GPUs: PCI class 0302 and 1200, and of class 03xx those of NVIDIA and AMD, Intel's without screen (0380)
/// and all that have a device of a compute library; other displays belong to a management controller. NICs:
/// class 02xx, 0c06 and whatever has a verbs device. Verbs devices are the ports; a network interface is one
/// only on a NIC without. NVSwitches: class 0680 of NVIDIA and what
/// hwloc calls NVSwitch.
///
/// NVLinkBandwidth holds the sum of the links between two ends, per direction, an NVSwitch being an end of
/// its own and a processor (POWER) too; the diagonal is invented by hwloc (0 or 1 TB/s) and means nothing.
/// One link is 25 GB/s, or 20 GB/s (NVLink 1). Links between switches do not show. XGMIBandwidth has a value
/// for every pair joined by xGMI alone, over however many hops: only pairs of one hop in XGMIHops are links
/// (older hwloc says one for all), and 100000 everywhere is no measured speed but what hwloc writes without
/// asking.
///
/// Errors: GPUs of one number in one library, more than 1024 NUMA nodes, unbounded sets of processors. To
/// notes: GPUs of a library without PCI device, ends of links that are no GPU, NVSwitch or NUMA node.
Result<Graph> graph_of(const HwlocXml& document, Notes* notes = nullptr);

}  // namespace weir::topology
