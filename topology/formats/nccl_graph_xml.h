// SPDX-License-Identifier: Apache-2.0
/// Graph files of NCCL and RCCL: the rings and trees that they selected, per channel (NCCL_GRAPH_FILE,
/// NCCL_GRAPH_DUMP_FILE).
///
/// Source of the format: src/graph/search.cc of NCCL 2.28 and 2.30. Device numbers are hexadecimal there.
/// Tests: tests/topology/nccl_xml_test.cc
#pragma once

#include <string>
#include <vector>

#include "topology/formats/source.h"
#include "topology/model/paths.h"

namespace weir::topology {

/// The stops of a channel, in order: the NIC through which it enters, the GPUs, the NIC through which it
/// leaves.
struct ChannelStop {
  bool is_net = false;
  int64_t device = 0;
  int rank = -1;  ///< since NCCL 2.30; -1: not given

  bool operator==(const ChannelStop&) const = default;
};

/// The channels of one algorithm. Speeds in GB/s per channel, latency in us.
struct ChannelGraph {
  int id = 0;       ///< 0 ring, 1 tree, 2 collnet chain, 3 NVLS, 4 collnet direct
  int pattern = 4;  ///< 1 balanced tree, 2 split tree, 3 tree, 4 ring, 5 NVLS, 6 collnet direct
  bool cross_nic = false;
  double speed_intra = 0;
  double speed_inter = 0;
  double latency_inter = 0;
  PathClass type_intra = PathClass::loc;
  PathClass type_inter = PathClass::loc;
  bool same_channels = false;
  std::vector<std::vector<ChannelStop>> channels;

  bool operator==(const ChannelGraph&) const = default;
};

/// Errors: invalid_argument with file and line, also if the number of channels differs from the attribute.
Result<std::vector<ChannelGraph>> read_nccl_graph_xml(const Source& source, Notes* notes = nullptr);
std::string write_nccl_graph_xml(const std::vector<ChannelGraph>& graphs);

}  // namespace weir::topology
