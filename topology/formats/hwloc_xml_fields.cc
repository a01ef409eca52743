// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/hwloc_xml_fields.h"

#include <algorithm>
#include <array>

namespace weir::topology::hwloc {
namespace {

bool is_hex(std::string_view text, size_t least, size_t most) {
  constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
  return text.size() >= least && text.size() <= most &&
         text.find_first_not_of(kDigits) == std::string_view::npos;
}

bool parse_field(std::string_view text, size_t digits, uint32_t& value) {
  uint64_t read = 0;
  if (!is_hex(text, digits, digits) || !parse_hex(text, read)) return false;
  value = static_cast<uint32_t>(read);
  return true;
}

/// A text like "[10de:2335]".
bool parse_pair(std::string_view text, uint32_t& vendor, uint32_t& device) {
  return text.size() == 11 && text[0] == '[' && text[5] == ':' && text[10] == ']' &&
         parse_field(text.substr(1, 4), 4, vendor) && parse_field(text.substr(6, 4), 4, device);
}

/// Groups of `digits` hex digits between colons; returns the number of groups, 0: another notation.
template <size_t kMost>
size_t parse_groups(std::string_view text, size_t digits, std::array<uint32_t, kMost>& groups) {
  size_t count = 0;
  for (;; ++count) {
    const size_t end = std::min(text.find(':'), text.size());
    if (count == kMost || !parse_field(text.substr(0, end), digits, groups[count])) return 0;
    if (end == text.size()) return count + 1;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

bool is_pci_address(std::string_view text) {
  std::string address;
  return parse_pci_address(text, address);
}

bool parse_pci_type(std::string_view text, PciFacts& pci) {
  const auto parts = words(text);
  uint32_t device_class = 0;
  uint32_t revision = 0;
  uint32_t programming_interface = 0;
  PciFacts read = pci;
  if ((parts.size() != 4 && parts.size() != 5) || !parse_field(parts[0], 4, device_class) ||
      !parse_pair(parts[1], read.vendor, read.device) ||
      !parse_pair(parts[2], read.subsystem_vendor, read.subsystem_device) ||
      !parse_field(parts[3], 2, revision) ||
      (parts.size() == 5 && !parse_field(parts[4], 2, programming_interface))) {
    return false;
  }
  read.class_code = device_class << 8 | programming_interface;
  pci = std::move(read);
  return true;
}

bool parse_buses(std::string_view text, std::string& first) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || !is_hex(text.substr(0, colon), 4, 8)) return false;
  const std::string_view rest = text.substr(colon + 1);
  if (rest.size() != 7 || rest[0] != '[' || !is_hex(rest.substr(1, 2), 2, 2) || rest[3] != '-' ||
      !is_hex(rest.substr(4, 2), 2, 2) || rest[6] != ']') {
    return false;
  }
  first = std::string(text.substr(0, colon + 1)) + std::string(rest.substr(1, 2));
  return true;
}

bool parse_guid(std::string_view text, uint64_t& guid) {
  std::array<uint32_t, 8> groups{};
  const size_t count = parse_groups(text, 4, groups);
  if (count != 4 && count != 8) return false;
  guid = 0;
  for (size_t i = count - 4; i < count; ++i) guid = guid << 16 | groups[i];
  return true;
}

bool parse_hardware_address(std::string_view text, uint64_t& guid, int& bytes) {
  std::array<uint32_t, 20> groups{};
  const size_t count = parse_groups(text, 2, groups);
  if (count != 6 && count != 20) return false;
  bytes = static_cast<int>(count);
  if (count == 6) {
    // EUI-64: ff:fe in the middle, and the universal/local bit inverted.
    const std::array<uint32_t, 8> eui = {groups[0] ^ 2, groups[1], groups[2], 0xff,
                                         0xfe,          groups[3], groups[4], groups[5]};
    std::copy(eui.begin(), eui.end(), groups.end() - 8);
  }
  guid = 0;
  for (size_t i = groups.size() - 8; i < groups.size(); ++i) guid = guid << 8 | groups[i];
  return true;
}

const std::string* find(const HwlocPairs& pairs, std::string_view name) {
  const auto found =
      std::find_if(pairs.begin(), pairs.end(), [name](const auto& pair) { return pair.first == name; });
  return found == pairs.end() ? nullptr : &found->second;
}

}  // namespace weir::topology::hwloc
