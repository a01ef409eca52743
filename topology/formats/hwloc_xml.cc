// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/hwloc_xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>

#include "topology/formats/cpu_set.h"
#include "topology/formats/hwloc_xml_fields.h"
#include "topology/formats/xml.h"

namespace weir::topology {
namespace {

using Need = XmlFile::Need;

/// Maximum number of objects, infos and other elements together, far above any real host.
constexpr size_t kMostElements = 1'000'000;

bool is_known_type(std::string_view type) {
  constexpr std::array<std::string_view, 23> kTypes = {
      "Machine", "System",  "Package",  "Socket",   "Die",      "Core",  "PU",       "Cache",
      "L1Cache", "L2Cache", "L3Cache",  "L4Cache",  "L5Cache",  "Group", "NUMANode", "L1iCache",
      "Bridge",  "PCIDev",  "L2iCache", "L3iCache", "MemCache", "OSDev", "Misc"};
  return std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
}

/// The words separated by blanks, tabs and line ends.
std::vector<std::string_view> words_of_lines(std::string_view text) {
  std::vector<std::string_view> found;
  Lines lines(text);
  for (std::string_view line; lines.next(line);) {
    const auto more = words(line);
    found.insert(found.end(), more.begin(), more.end());
  }
  return found;
}

std::string key_of(std::string_view type, int64_t os_index) { return fmt::format("{}:{}", type, os_index); }

class HwlocReader {
 public:
  HwlocReader(const XmlFile& file, Notes* notes) : file_(file), notes_(notes) {}

  Result<HwlocXml> read();

 private:
  Status read_version(pugi::xml_node root);
  Status read_object(pugi::xml_node element, HwlocObject& object);
  Status read_field(pugi::xml_node element, std::string_view name, std::string_view value,
                    HwlocObject& object, bool& known);
  Status read_text_field(pugi::xml_node element, std::string_view name, std::string_view value,
                         HwlocObject& object, bool& known);
  Status check_object(pugi::xml_node element, HwlocObject& object);
  /// The sentence about a second object with a property that must be unique; empty: it is the first.
  std::string second_with(pugi::xml_node element, const std::string& what);
  Status read_latencies(pugi::xml_node element, HwlocLatencies& latencies);
  Status read_distances(pugi::xml_node element, HwlocDistances& distances);
  Status read_references(pugi::xml_node element, HwlocDistances& distances);
  Status check_distances(pugi::xml_node element, const HwlocDistances& distances);
  Status read_info(pugi::xml_node element, HwlocPairs& infos);
  Status read_element(pugi::xml_node element, HwlocElement& kept);
  /// Allows each attribute once, and only the given ones if any are given. Called for every element.
  Status check_attributes(pugi::xml_node element, std::initializer_list<std::string_view> known);
  Status no_text(pugi::xml_node element);
  Status read_whole(pugi::xml_node element, std::string_view name, std::string_view value, int64_t most,
                    int64_t& whole);
  Status unlike(pugi::xml_node element, std::string_view name, std::string_view value,
                std::string_view expected) {
    return file_.refuse(element, fmt::format("{} of <{}> is \"{}\"; expected {}", name, element.name(),
                                             value.substr(0, 100), expected));
  }

  const XmlFile& file_;
  Notes* notes_;
  HwlocXml document_;
  size_t elements_ = 0;
  /// The line of the first occurrence of a property that must be unique.
  std::unordered_map<std::string, size_t> once_;
  std::set<std::string> os_indices_;
  std::set<int64_t> gp_indices_;
};

Status HwlocReader::read_whole(pugi::xml_node element, std::string_view name, std::string_view value,
                               int64_t most, int64_t& whole) {
  int64_t number = 0;
  if (!parse_int(value, number) || number < 0 || number > most)
    return unlike(element, name, value, fmt::format("a whole number from 0 to {}", most));
  whole = number;
  return {};
}

Status HwlocReader::check_attributes(pugi::xml_node element, std::initializer_list<std::string_view> known) {
  if (++elements_ > kMostElements)
    return file_.refuse(element, fmt::format("the file has more than {} elements", kMostElements));
  std::vector<std::string_view> names;
  for (const pugi::xml_attribute attribute : element.attributes()) names.emplace_back(attribute.name());
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end())
    return file_.refuse(element, fmt::format("<{}> has the attribute {} twice", element.name(), *twice));
  if (known.size() == 0) return {};
  for (const std::string_view name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      WEIR_TRY(file_.leave_out(notes_, element,
                               fmt::format("unknown attribute {} of <{}>; ignored", name, element.name())));
    }
  }
  return {};
}

Status HwlocReader::no_text(pugi::xml_node element) {
  for (const pugi::xml_node child : element.children()) {
    if (child.type() == pugi::node_pcdata || child.type() == pugi::node_cdata) {
      return file_.leave_out(notes_, element,
                             fmt::format("unexpected text inside <{}>; ignored", element.name()));
    }
  }
  return {};
}

std::string HwlocReader::second_with(pugi::xml_node element, const std::string& what) {
  const auto [found, is_new] = once_.emplace(what, file_.line(element));
  if (is_new) return "";
  return fmt::format("a second object with {}; the first is in line {}", what, found->second);
}

Status HwlocReader::read_text_field(pugi::xml_node element, std::string_view name, std::string_view value,
                                    HwlocObject& object, bool& known) {
  CpuSet set;
  PciFacts pci;
  std::string first;
  known = true;
  const auto take = [&](std::string& field, bool fits, std::string_view expected) -> Status {
    if (!fits) return unlike(element, name, value, expected);
    field = value;
    return {};
  };
  constexpr std::string_view kSet = "32-bit words in hex between commas, for at most 65536 numbers";
  if (name == "type") return take(object.type, !value.empty(), "a type of object");
  if (name == "name") return take(object.name, true, "");
  if (name == "subtype") return take(object.subtype, true, "");
  if (name == "cpuset") return take(object.cpuset, CpuSet::parse_words(value, set), kSet);
  if (name == "nodeset") return take(object.nodeset, CpuSet::parse_words(value, set), kSet);
  if (name == "pci_busid") return take(object.pci_busid, hwloc::is_pci_address(value), "like 0000:3b:00.0");
  if (name == "pci_type") {
    return take(object.pci_type, hwloc::parse_pci_type(value, pci),
                "class, [vendor:device], [subsystem's], revision: 0302 [10de:2335] [10de:18bf] a1");
  }
  if (name == "bridge_type") {
    return take(object.bridge_type, value == "0-1" || value == "1-1",
                "0-1 (from the host to PCI) or 1-1 (from PCI to PCI)");
  }
  if (name == "bridge_pci")
    return take(object.bridge_pci, hwloc::parse_buses(value, first), "like 0000:[3b-40]");
  known = false;
  return {};
}

Status HwlocReader::read_field(pugi::xml_node element, std::string_view name, std::string_view value,
                               HwlocObject& object, bool& known) {
  WEIR_TRY(read_text_field(element, name, value, object, known));
  if (known) return {};
  known = true;
  int64_t whole = -1;
  if (name == "os_index") return read_whole(element, name, value, UINT32_MAX, object.os_index);
  if (name == "gp_index") return read_whole(element, name, value, INT64_MAX, object.gp_index);
  if (name == "local_memory") return read_whole(element, name, value, INT64_MAX, object.local_memory);
  if (name == "depth") {
    WEIR_TRY(read_whole(element, name, value, INT32_MAX, whole));
    object.depth = static_cast<int>(whole);
    return {};
  }
  if (name == "osdev_type") {
    WEIR_TRY(read_whole(element, name, value, INT32_MAX, whole));
    object.osdev_type = static_cast<int>(whole);
    return {};
  }
  if (name == "pci_link_speed") {
    return file_.get_number(element, "pci_link_speed", Need::needed, 0, 1e6, object.pci_link_speed);
  }
  known = false;
  return {};
}

Status HwlocReader::check_object(pugi::xml_node element, HwlocObject& object) {
  if (object.type.empty()) return file_.refuse(element, "<object> has no attribute type");
  if (!is_known_type(object.type)) {
    WEIR_TRY(file_.leave_out(notes_, element,
                             fmt::format("unknown object type {}; treated as a group", object.type)));
  }
  if (const std::string* id = hwloc::find(object.attributes, "id"); id != nullptr && id->starts_with("obj")) {
    int64_t number = 0;
    WEIR_TRY(read_whole(element, "id", std::string_view(*id).substr(3), INT64_MAX, number));
    if (object.gp_index != 0 && object.gp_index != number)
      return unlike(element, "id", *id, fmt::format("obj{}, to match gp_index", object.gp_index));
    object.gp_index = number;
  }
  if (object.type == "NUMANode" && (object.os_index < 0 || object.os_index > INT32_MAX))
    return file_.refuse(element, "a NUMANode without os_index; expected one from 0 to 2147483647");
  if (object.type == "PCIDev" && (object.pci_busid.empty() || object.pci_type.empty()))
    return file_.refuse(element, "a PCIDev needs pci_busid and pci_type");
  if (object.type == "Bridge" && (object.bridge_type.empty() || object.bridge_pci.empty()))
    return file_.refuse(element, "a Bridge needs bridge_type and bridge_pci");
  if (object.bridge_type == "1-1" && (object.pci_busid.empty() || object.pci_type.empty()))
    return file_.refuse(element, "a Bridge of bridge_type 1-1 needs pci_busid and pci_type");
  if (object.os_index >= 0) os_indices_.insert(key_of(object.type, object.os_index));
  std::string second;
  if (object.gp_index != 0 && !gp_indices_.insert(object.gp_index).second)
    return file_.refuse(element, fmt::format("a second object with gp_index {}", object.gp_index));
  if (object.type == "NUMANode") second = second_with(element, fmt::format("NUMA node {}", object.os_index));
  if (!second.empty()) return file_.refuse(element, second);
  if (!object.pci_busid.empty()) second = second_with(element, "pci_busid " + object.pci_busid);
  return second.empty() ? Status() : file_.leave_out(notes_, element, second + "; both are kept");
}

// Recursion is bounded by the depth that XmlFile accepts.
Status HwlocReader::read_object(pugi::xml_node element, HwlocObject& object) {
  WEIR_TRY(check_attributes(element, {}));
  WEIR_TRY(no_text(element));
  for (const pugi::xml_attribute attribute : element.attributes()) {
    bool known = false;
    WEIR_TRY(read_field(element, attribute.name(), attribute.value(), object, known));
    if (!known) object.attributes.emplace_back(attribute.name(), attribute.value());
  }
  WEIR_TRY(check_object(element, object));
  for (const pugi::xml_node child : element.children()) {
    if (child.type() != pugi::node_element) continue;
    const std::string_view name = child.name();
    if (name == "object") {
      WEIR_TRY(read_object(child, object.children.emplace_back()));
    } else if (name == "info") {
      WEIR_TRY(read_info(child, object.infos));
    } else if (name == "distances") {
      WEIR_TRY(read_latencies(child, object.latencies.emplace_back()));
    } else {
      if (name != "page_type" && name != "userdata") {
        WEIR_TRY(file_.leave_out(notes_, child,
                                 fmt::format("unknown element <{}> in an object; kept, but not used", name)));
      }
      WEIR_TRY(read_element(child, object.others.emplace_back()));
    }
  }
  return {};
}

Status HwlocReader::read_info(pugi::xml_node element, HwlocPairs& infos) {
  WEIR_TRY(check_attributes(element, {"name", "value"}));
  WEIR_TRY(no_text(element));
  auto& [name, value] = infos.emplace_back();
  WEIR_TRY(file_.get(element, "name", Need::needed, name));
  return file_.get(element, "value", Need::optional, value);
}

Status HwlocReader::read_element(pugi::xml_node element, HwlocElement& kept) {
  WEIR_TRY(check_attributes(element, {}));
  kept.name = element.name();
  for (const pugi::xml_attribute attribute : element.attributes())
    kept.attributes.emplace_back(attribute.name(), attribute.value());
  for (const pugi::xml_node child : element.children()) {
    if (child.type() == pugi::node_element) {
      WEIR_TRY(read_element(child, kept.children.emplace_back()));
    } else if (child.type() == pugi::node_pcdata || child.type() == pugi::node_cdata) {
      kept.text += child.value();
    }
  }
  const bool blank = kept.text.find_first_not_of(" \t\r\n") == std::string::npos;
  if (!blank && kept.children.empty()) return {};
  kept.text.clear();
  return blank ? Status() : no_text(element);
}

Status HwlocReader::read_latencies(pugi::xml_node element, HwlocLatencies& latencies) {
  WEIR_TRY(check_attributes(element, {"nbobjs", "relative_depth", "latency_base"}));
  WEIR_TRY(no_text(element));
  WEIR_TRY(file_.get(element, "nbobjs", Need::needed, 1, INT32_MAX, latencies.objects));
  WEIR_TRY(file_.get(element, "relative_depth", Need::needed, 0, INT32_MAX, latencies.relative_depth));
  WEIR_TRY(file_.get_number(element, "latency_base", Need::needed, 0, 1e9, latencies.base));
  for (const pugi::xml_node child : element.children()) {
    if (child.type() != pugi::node_element) continue;
    if (std::string_view(child.name()) != "latency")
      return file_.refuse(child, fmt::format("<{}> in <distances>; expected <latency>", child.name()));
    WEIR_TRY(check_attributes(child, {"value"}));
    WEIR_TRY(file_.get_number(child, "value", Need::needed, 0, 1e9, latencies.values.emplace_back()));
  }
  const auto needed = static_cast<uint64_t>(latencies.objects) * static_cast<uint64_t>(latencies.objects);
  if (latencies.values.size() == needed) return {};
  return file_.refuse(element, fmt::format("<distances> of {} objects has {} latencies; expected {}",
                                           latencies.objects, latencies.values.size(), needed));
}

Status HwlocReader::read_references(pugi::xml_node element, HwlocDistances& distances) {
  for (std::string_view word : words_of_lines(element.child_value())) {
    HwlocReference& reference = distances.objects.emplace_back();
    if (distances.type.empty()) {
      const size_t colon = std::min(word.find(':'), word.size());
      reference.type = word.substr(0, colon);
      word.remove_prefix(std::min(colon + 1, word.size()));
      if (reference.type.empty() || word.empty()) {
        return file_.refuse(
            element,
            "<indexes> of <distances2hetero> contains an invalid word; expected words like OSDev:12");
      }
    }
    WEIR_TRY(read_whole(element, "a number", word, INT64_MAX, reference.index));
  }
  return {};
}

Status HwlocReader::read_distances(pugi::xml_node element, HwlocDistances& distances) {
  const bool mixed = std::string_view(element.name()) == "distances2hetero";
  WEIR_TRY(check_attributes(element, {"type", "nbobjs", "kind", "name", "indexing"}));
  WEIR_TRY(no_text(element));
  int count = 0;
  std::string indexing = "gp";
  WEIR_TRY(file_.get(element, "nbobjs", Need::needed, 1, INT32_MAX, count));
  WEIR_TRY(file_.get(element, "kind", Need::needed, 0, INT32_MAX, distances.kind));
  WEIR_TRY(file_.get(element, "name", Need::optional, distances.name));
  if (!mixed) {
    WEIR_TRY(file_.get(element, "type", Need::needed, distances.type));
    WEIR_TRY(file_.get(element, "indexing", Need::needed, indexing));
    if (distances.type.empty()) return unlike(element, "type", "", "a type of object");
  }
  if (indexing != "os" && indexing != "gp") return unlike(element, "indexing", indexing, "os or gp");
  distances.by_os_index = indexing == "os";
  for (const pugi::xml_node child : element.children()) {
    if (child.type() != pugi::node_element) continue;
    const std::string_view name = child.name();
    WEIR_TRY(check_attributes(child, {"length"}));
    if (name == "indexes") {
      WEIR_TRY(read_references(child, distances));
    } else if (name == "u64values") {
      for (const std::string_view word : words_of_lines(child.child_value())) {
        int64_t value = 0;
        WEIR_TRY(read_whole(child, "a value", word, INT64_MAX, value));
        distances.values.push_back(static_cast<uint64_t>(value));
      }
    } else {
      return file_.refuse(
          child, fmt::format("<{}> in <{}>; expected <indexes> or <u64values>", name, element.name()));
    }
  }
  const auto objects = static_cast<uint64_t>(count);
  if (distances.objects.size() == objects && distances.values.size() == objects * objects) return {};
  return file_.refuse(
      element,
      fmt::format("<{}> of {} objects has {} indexes and {} values; expected {} and {}", element.name(),
                  count, distances.objects.size(), distances.values.size(), count, objects * objects));
}

Status HwlocReader::check_distances(pugi::xml_node element, const HwlocDistances& distances) {
  std::set<int64_t> seen;
  for (const HwlocReference& reference : distances.objects) {
    const std::string& type = distances.type.empty() ? reference.type : distances.type;
    const bool there = distances.by_os_index ? os_indices_.contains(key_of(type, reference.index))
                                             : gp_indices_.contains(reference.index);
    const char* which = distances.by_os_index ? "os_index" : "gp_index";
    if (!there) {
      return file_.refuse(element,
                          fmt::format("the matrix {} refers to {} with {} {}, which is not in the file",
                                      distances.name, type, which, reference.index));
    }
    if (!seen.insert(reference.index).second) {
      return file_.refuse(element, fmt::format("the matrix {} refers to {} with {} {} twice", distances.name,
                                               type, which, reference.index));
    }
  }
  return {};
}

Status HwlocReader::read_version(pugi::xml_node root) {
  if (std::string_view(root.name()) != "topology") {
    return file_.refuse(root, fmt::format("the root element is <{}>; expected <topology>", root.name()));
  }
  WEIR_TRY(check_attributes(root, {"version"}));
  WEIR_TRY(no_text(root));
  WEIR_TRY(file_.get(root, "version", Need::optional, document_.version));
  const std::string_view version = document_.version;
  int64_t minor = 0;
  const bool numbered = version.size() > 2 && version[1] == '.' && parse_int(version.substr(2), minor);
  if (!root.attribute("version") || (numbered && minor >= 0 && (version[0] == '2' || version[0] == '3')))
    return {};
  return unlike(root, "version", version, "2.x or 3.x, or no version (hwloc 1)");
}

Result<HwlocXml> HwlocReader::read() {
  const pugi::xml_node root = file_.root();
  WEIR_TRY(read_version(root));
  std::vector<pugi::xml_node> matrices;
  constexpr std::array<std::string_view, 6> kUnused = {"support",  "memattr",      "cpukind",
                                                       "userdata", "pci_locality", "page_type"};
  for (const pugi::xml_node child : root.children()) {
    if (child.type() != pugi::node_element) continue;
    const std::string_view name = child.name();
    if (name == "object") {
      if (!document_.machine.type.empty())
        return file_.refuse(child, "<topology> contains a second object; expected one machine");
      WEIR_TRY(read_object(child, document_.machine));
      if (document_.machine.type != "Machine" && document_.machine.type != "System")
        return unlike(child, "type", document_.machine.type, "Machine");
    } else if (name == "distances2" || name == "distances2hetero") {
      matrices.push_back(child);
      WEIR_TRY(read_distances(child, document_.distances.emplace_back()));
    } else if (name == "info") {
      WEIR_TRY(read_info(child, document_.infos));
    } else {
      if (std::find(kUnused.begin(), kUnused.end(), name) == kUnused.end()) {
        WEIR_TRY(file_.leave_out(
            notes_, child, fmt::format("unknown element <{}> in <topology>; kept, but not used", name)));
      }
      WEIR_TRY(read_element(child, document_.others.emplace_back()));
    }
  }
  if (document_.machine.type.empty()) return file_.refuse(root, "<topology> contains no object");
  for (size_t i = 0; i < matrices.size(); ++i) WEIR_TRY(check_distances(matrices[i], document_.distances[i]));
  return std::move(document_);
}

}  // namespace

Result<HwlocXml> read_hwloc_xml(const Source& source, Notes* notes) {
  if (const size_t zero = source.text.find('\0'); zero != std::string_view::npos)
    return refuse(source, line_of(source.text, zero), "the file contains a zero byte; expected XML text");
  auto file = XmlFile::parse(source);
  WEIR_TRY(file.status());
  return HwlocReader(*file, notes).read();
}

}  // namespace weir::topology
