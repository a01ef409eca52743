// SPDX-License-Identifier: Apache-2.0
/// Fields of hwloc's XML with a notation of their own. Internal to hwloc_xml*.cc.
/// Tests: tests/topology/hwloc_xml_test.cc
#pragma once

#include <string_view>

#include "topology/formats/hwloc_xml.h"

namespace weir::topology::hwloc {

/// Whether a text is like "0000:3b:00.0", with a domain of four to eight digits.
bool is_pci_address(std::string_view text);

/// Fills all of `pci` except its address and speeds. The class has 24 bits there; hwloc before 3.0 omits the
/// last eight (the programming interface).
bool parse_pci_type(std::string_view text, PciFacts& pci);

/// Parses "0000:[3b-40]": `first` becomes "0000:3b".
bool parse_buses(std::string_view text, std::string& first);

/// Parses "fe80:0000:0000:0000:b8e9:2403:00ba:a4c8" or the four groups of a GUID; returns the last 64 bits.
bool parse_guid(std::string_view text, uint64_t& guid);

/// The EUI-64 of a 6-byte Ethernet address, or the last 8 bytes of a 20-byte InfiniBand address, as used in
/// GIDs of RoCE and InfiniBand. `bytes` becomes 6 or 20.
bool parse_hardware_address(std::string_view text, uint64_t& guid, int& bytes);

/// The value of that name, or null.
const std::string* find(const HwlocPairs& pairs, std::string_view name);

}  // namespace weir::topology::hwloc
