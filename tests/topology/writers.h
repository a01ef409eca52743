// SPDX-License-Identifier: Apache-2.0
/// Texts that the tools of vendors would have written: what a reader made of a text is written again, so that
/// tests and fuzz targets can read it back and compare. The library itself writes none of these formats.
///
/// Pure and thread-safe. Words of the formats stand here a second time, so that a reader that forgets one is
/// found.
#pragma once

#include <string>
#include <string_view>

#include "topology/formats/hwloc_xml.h"
#include "topology/formats/ibnetdiscover.h"
#include "topology/formats/nvidia_smi.h"
#include "topology/formats/rocm_smi.h"
#include "topology/formats/slurm_topology.h"
#include "topology/formats/synthetic.h"
#include "topology/formats/topology_yaml.h"

namespace weir::topology {

/// hwloc of the same or a later major version loads it.
std::string write_hwloc_xml(const HwlocXml& document);

/// In the full form.
std::string write_ibnetdiscover(const IbFabric& fabric);

/// With tabs, without explanations.
std::string write_nvidia_smi(const NvidiaSmi& matrix);

std::string write_rocm_smi(const RocmSmiReport& matrix);

/// Lists of names compressed, one line per switch or block.
std::string write_slurm_topology(const SlurmTopology& topology);

std::string write_synthetic(const Synthetic& machine);

/// LinkSpeed of switches has no place in this format.
std::string write_topology_yaml(const SlurmTopologies& topologies);

/// The text as a scalar: plain where that is safe everywhere, else in single quotes. For printable ASCII.
std::string yaml_scalar(std::string_view text);

}  // namespace weir::topology
