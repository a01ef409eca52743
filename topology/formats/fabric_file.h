// SPDX-License-Identifier: Apache-2.0
/// weir's own file format for a network, written by hand or by a program that detected it.
///
///   weir fabric 1                              the first line
///   spine  spine[1-2]                          switches of level 2
///   leaf   leaf[1-4]                           switches of level 1
///   switch core[1-2] level 3                   switches of any level
///   island rack[1-2]                           switches of level 1 that join hosts by NVLink
///   host   node[01-16]
///   cable  leaf[1-4] to spine[1-2] 4x400G      four of 400 Gbit/s from every leaf to every spine
///   attach node[01-08] to leaf1 100G           hosts without NICs
///   attach node[09-16] nic mlx5_[0-1] to leaf[3-4] 400G rail 0-1
///
///   file    = "weir fabric 1" { leaf | spine | switch | island | host | cable | attach }
///   leaf    = "leaf" names [guid]
///   spine   = "spine" names [guid]
///   switch  = "switch" names "level" number [guid]
///   island  = "island" names [guid]
///   host    = "host" names
///   cable   = "cable" names "to" names speed
///   attach  = "attach" names ["nic" names ["port" number]] "to" names speed ["rail" numbers] [guid]
///   speed   = [number "x"] (number "G" | "?")  how many, 1e9 bits of data per second of each; "?": not known
///   guid    = "guid" hexadecimal               of the one switch, or of the port of one NIC of one host
///   numbers = numbers and ranges               0-7 or 0,2
///   names   = a list of hostlist.h             node[01-08],login or any name in quotation marks
///
/// The number in the title changes if the meaning of any line changes. One item per line; words are separated
/// by blanks or tabs; '#' begins a comment; the order of lines does not matter. Every name that is attached
/// or cabled must have a line that defines it; switches and hosts have separate namespaces.
///
/// With NICs, each host has all of them, and `to` names one switch for all, or one for each in order;
/// without, each host is attached to all switches. `rail` gives one rail for all or one for each NIC (or
/// switch) in order.
/// Tests: tests/topology/fabric_file_test.cc
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "topology/formats/source.h"
#include "topology/model/graph.h"

namespace weir::topology {

struct FabricSwitches {
  std::vector<std::string> names;
  int level = 1;
  bool island = false;
  uint64_t guid = 0;  ///< 0: not specified

  bool operator==(const FabricSwitches&) const = default;
};

struct FabricCable {
  std::vector<std::string> from;
  std::vector<std::string> to;
  int count = 1;
  double gbit_per_s = 0;  ///< speed of each cable; 0: unknown

  bool operator==(const FabricCable&) const = default;
};

struct FabricAttachment {
  std::vector<std::string> hosts;
  std::vector<std::string> nics;  ///< NICs of each host; empty: the host itself is attached
  int port = 1;
  std::vector<std::string> switches;
  int count = 1;  ///< cables per attachment; 1 if NICs are named
  double gbit_per_s = 0;
  std::vector<int> rails;  ///< no rail, one for all, or one per NIC or switch
  uint64_t guid = 0;

  bool operator==(const FabricAttachment&) const = default;
};

struct FabricFile {
  std::vector<FabricSwitches> switches;
  std::vector<std::string> hosts;
  std::vector<FabricCable> cables;
  std::vector<FabricAttachment> attachments;

  bool operator==(const FabricFile&) const = default;
};

inline constexpr size_t kMostPairs = 1'000'000;

/// Errors: another title; words that the grammar above does not have; names defined twice or not at all;
/// lists of unequal length; a NIC's port attached twice; two switches cabled twice at one speed, or one
/// cabled to itself; more than kMostNames names, or kMostPairs cables or attachments.
Result<FabricFile> read_fabric_file(const Source& source, Notes* notes = nullptr);

/// Writes switches first, then hosts, cables and attachments; lists are compressed.
std::string write_fabric_file(const FabricFile& fabric);

/// Switches and hosts in the order of the file, then NICs with one port each. Errors: those of
/// read_fabric_file().
Result<Graph> graph_of(const FabricFile& fabric);

/// The network of any graph: its switches, hosts, and links to switches from hosts, NICs and ports. Speeds
/// are rounded to 1e-6 Gbit/s; switches without a level get one (levels.h). Omitted: the inside of hosts,
/// latencies, LIDs, numbers of switch ports. Names must be printable.
FabricFile fabric_of(const Graph& graph);

namespace fabric {

enum class FabricList : unsigned char { switches, hosts, cables, attachments };
/// Makes the error about one item of that list of a FabricFile.
using RefuseItem = std::function<Status(FabricList part, size_t item, const std::string& sentence)>;

Status check(const FabricFile& fabric, const RefuseItem& refuse);

}  // namespace fabric
}  // namespace weir::topology
