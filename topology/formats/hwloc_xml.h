// SPDX-License-Identifier: Apache-2.0
/// hwloc's XML, as written by `lstopo --of xml` and hwloc_topology_export_xml(). One file describes one host.
///
/// Source: hwloc's documentation and files written by hwloc 1.x (no version, NUMA nodes contain their
/// processors), 2.x (version="2.0", NUMA nodes are siblings of them) and 3.0 (version="3.0", other numbers
/// for OS devices). Units: memory in bytes, pci_link_speed in GB/s of the whole link, bandwidth matrices in
/// MB/s per direction. Read with our own XML reader: libhwloc would refuse newer versions and repair older
/// ones.
/// Tests: tests/topology/hwloc_xml_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "topology/formats/source.h"
#include "topology/model/graph.h"

namespace weir::topology {

using HwlocPairs = std::vector<std::pair<std::string, std::string>>;  ///< pairs of name and value, in order

/// An element that the reader does not interpret, unchanged from the file.
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
  std::vector<double> values;  ///< matrix row by row

  bool operator==(const HwlocLatencies&) const = default;
};

/// Missing attributes are empty texts, -1 or 0.
struct HwlocObject {
  std::string type;  ///< "Machine", "Package", "NUMANode", "Bridge", "PCIDev", "OSDev", ...
  int64_t os_index = -1;
  int64_t gp_index = 0;  ///< unique number; in a 3.0 file from id="objN"
  std::string name;
  std::string subtype;
  std::string cpuset;   ///< processors, see CpuSet::parse_words
  std::string nodeset;  ///< NUMA nodes, in the same notation
  int64_t local_memory = -1;
  std::string pci_busid;  ///< "0000:3b:00.0"
  std::string
      pci_type;  ///< "0302 [10de:2335] [10de:18bf] a1": class, vendor and device, subsystem's, revision
  double pci_link_speed = -1;  ///< GB/s; 0 in files: unknown
  std::string bridge_type;     ///< "0-1": from the host to PCI; "1-1": from PCI to PCI
  std::string bridge_pci;      ///< "0000:[3b-40]": the buses below
  int depth = -1;
  int osdev_type = -1;
  HwlocPairs infos;
  HwlocPairs attributes;             ///< all other attributes
  std::vector<HwlocElement> others;  ///< page types, user data
  std::vector<HwlocLatencies> latencies;
  std::vector<HwlocObject> children;

  bool operator==(const HwlocObject&) const = default;
};

struct HwlocReference {
  std::string type;   ///< empty if the matrix gives one type for all
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
  std::vector<uint64_t> values;  ///< matrix row by row

  bool operator==(const HwlocDistances&) const = default;
};

struct HwlocXml {
  std::string version;  ///< empty: hwloc 1; otherwise "2.0", "3.0"
  HwlocObject machine;
  std::vector<HwlocDistances> distances;
  HwlocPairs infos;                  ///< infos of the whole topology (3.0)
  std::vector<HwlocElement> others;  ///< supports, memory attributes, kinds of CPU, ...

  bool operator==(const HwlocXml&) const = default;
};

/// Errors: malformed XML, another root or version, invalid fields, indices that occur twice, matrices with
/// missing values or objects that do not exist. Notes: PCI addresses that occur twice, unknown types of
/// objects and elements (all these are kept in the value), unknown attributes where none are allowed, stray
/// text (ignored).
Result<HwlocXml> read_hwloc_xml(const Source& source, Notes* notes = nullptr);

/// One host with its packages, NUMA nodes, PCIe trees, GPUs, NICs with ports, NVSwitches, and their links.
///
/// Processors: if the file has no NUMA node, the whole machine is one, as in hwloc. NUMA nodes with
/// processors are connected pairwise (kind cpu, no speed: hwloc's latencies are relative). Family and model
/// are written as NCCL does (family 23 is 143: 15 + (8 << 4)).
///
/// PCIe: a host bridge is a root bridge, below the NUMA node of its processors; if it belongs to several, it
/// is below their package or the host and has a link to each. Below it come root ports, then pairs of
/// upstream and downstream port. Root ports and downstream ports (bridges below a switch, of its vendor) are
/// not nodes: one bridge node is one switch. A bridge below a root port, a downstream port or a switch of
/// another vendor is a node, so conventional bridges are kept. Branches without a GPU, NIC or NVSwitch are
/// omitted. Links have the speed of the lower end, or of the port above if the lower end has none; 0:
/// unknown. It is the speed at the time the file was written: idle GPUs slow their links down.
///
/// GPUs: PCI class 0302 and 1200, and of class 03xx those of NVIDIA and AMD, Intel's without screen (0380)
/// and all that have a device of a compute library; other displays belong to a management controller. NICs:
/// class 02xx, 0c06 and everything with a verbs device. Verbs devices are the ports; a network interface is a
/// port only on a NIC without verbs devices. NVSwitches: class 0680 of NVIDIA and devices that hwloc calls
/// NVSwitch.
///
/// NVLinkBandwidth contains the sum of the links between two ends, per direction; an NVSwitch is an end of
/// its own, and so is a processor (POWER). hwloc invents the diagonal (0 or 1 TB/s), which means nothing. One
/// link is 25 GB/s, or 20 GB/s (NVLink 1). Links between switches are not listed. XGMIBandwidth has a value
/// for every pair connected by xGMI alone, over any number of hops: only pairs with one hop in XGMIHops are
/// links (older hwloc gives one hop for all), and 100000 everywhere is not a measured speed but hwloc's
/// default.
///
/// Errors: several GPUs with one number in one library, more than 1024 NUMA nodes, unbounded sets of
/// processors. Notes: GPUs of a library without PCI device, ends of links that are no GPU, NVSwitch or NUMA
/// node.
Result<Graph> graph_of(const HwlocXml& document, Notes* notes = nullptr);

}  // namespace weir::topology
