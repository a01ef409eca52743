// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>

#include "tests/topology/writers.h"
#include "topology/formats/xml.h"

namespace weir::topology {
namespace {

class HwlocWriter {
 public:
  std::string write(const HwlocXml& document);

 private:
  /// Writes "<name" at the current depth.
  void begin(std::string_view name) { out_ += fmt::format("{:{}}<{}", "", 2 * depth_, name); }
  void attribute(std::string_view name, std::string_view value) {
    out_ += fmt::format(" {}=\"{}\"", name, xml_text(value));
  }
  void optional(std::string_view name, std::string_view value) {
    if (!value.empty()) attribute(name, value);
  }
  void optional(std::string_view name, int64_t value, int64_t none = -1) {
    if (value != none) attribute(name, fmt::to_string(value));
  }
  void close() { out_ += "/>\n"; }
  void open() {
    out_ += ">\n";
    ++depth_;
  }
  void end(std::string_view name) {
    --depth_;
    out_ += fmt::format("{:{}}</{}>\n", "", 2 * depth_, name);
  }

  void write_object(const HwlocObject& object);
  void write_attributes(const HwlocObject& object);
  void write_infos(const HwlocPairs& infos);
  void write_element(const HwlocElement& element);
  void write_latencies(const HwlocLatencies& latencies);
  void write_distances(const HwlocDistances& distances);
  /// Writes ten words per element as hwloc does, which counts their characters.
  template <typename T, typename Text>
  void write_words(std::string_view name, const std::vector<T>& values, Text text);

  std::string out_;
  size_t depth_ = 0;
};

void HwlocWriter::write_infos(const HwlocPairs& infos) {
  for (const auto& [name, value] : infos) {
    begin("info");
    attribute("name", name);
    attribute("value", value);
    close();
  }
}

void HwlocWriter::write_element(const HwlocElement& element) {
  begin(element.name);
  for (const auto& [name, value] : element.attributes) attribute(name, value);
  if (element.text.empty() && element.children.empty()) return close();
  if (!element.text.empty()) {
    out_ += fmt::format(">{}</{}>\n", xml_text(element.text), element.name);
    return;
  }
  open();
  for (const HwlocElement& child : element.children) write_element(child);
  end(element.name);
}

void HwlocWriter::write_latencies(const HwlocLatencies& latencies) {
  begin("distances");
  attribute("nbobjs", fmt::to_string(latencies.objects));
  attribute("relative_depth", fmt::to_string(latencies.relative_depth));
  attribute("latency_base", fmt::format("{}", latencies.base));
  open();
  for (const double value : latencies.values) {
    begin("latency");
    attribute("value", fmt::format("{}", value));
    close();
  }
  end("distances");
}

void HwlocWriter::write_attributes(const HwlocObject& object) {
  attribute("type", object.type);
  optional("os_index", object.os_index);
  optional("cpuset", object.cpuset);
  optional("nodeset", object.nodeset);
  optional("gp_index", object.gp_index, 0);
  optional("name", object.name);
  optional("subtype", object.subtype);
  optional("bridge_type", object.bridge_type);
  optional("depth", object.depth);
  optional("bridge_pci", object.bridge_pci);
  optional("pci_busid", object.pci_busid);
  optional("pci_type", object.pci_type);
  if (object.pci_link_speed >= 0) attribute("pci_link_speed", fmt::format("{}", object.pci_link_speed));
  optional("osdev_type", object.osdev_type);
  optional("local_memory", object.local_memory);
  for (const auto& [name, value] : object.attributes) attribute(name, value);
}

void HwlocWriter::write_object(const HwlocObject& object) {
  begin("object");
  write_attributes(object);
  if (object.infos.empty() && object.others.empty() && object.latencies.empty() && object.children.empty())
    return close();
  open();
  // hwloc 1 accepts page types only as the first elements.
  for (const HwlocElement& other : object.others) write_element(other);
  write_infos(object.infos);
  for (const HwlocLatencies& latencies : object.latencies) write_latencies(latencies);
  for (const HwlocObject& child : object.children) write_object(child);
  end("object");
}

template <typename T, typename Text>
void HwlocWriter::write_words(std::string_view name, const std::vector<T>& values, Text text) {
  constexpr size_t kWords = 10;
  for (size_t first = 0; first < values.size(); first += kWords) {
    std::string line;
    for (size_t i = first; i < std::min(first + kWords, values.size()); ++i) line += text(values[i]) + " ";
    begin(name);
    out_ += fmt::format(" length=\"{}\">{}</{}>\n", line.size(), xml_text(line), name);
  }
}

void HwlocWriter::write_distances(const HwlocDistances& distances) {
  const char* const element = distances.type.empty() ? "distances2hetero" : "distances2";
  begin(element);
  optional("type", distances.type);
  attribute("nbobjs", fmt::to_string(distances.objects.size()));
  attribute("kind", fmt::to_string(distances.kind));
  optional("name", distances.name);
  if (!distances.type.empty()) attribute("indexing", distances.by_os_index ? "os" : "gp");
  open();
  write_words("indexes", distances.objects, [](const HwlocReference& reference) {
    return fmt::format("{}{}{}", reference.type, reference.type.empty() ? "" : ":", reference.index);
  });
  write_words("u64values", distances.values, [](uint64_t value) { return fmt::to_string(value); });
  end(element);
}

std::string HwlocWriter::write(const HwlocXml& document) {
  const bool first_version = document.version.empty();
  out_ = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out_ += fmt::format("<!DOCTYPE topology SYSTEM \"{}\">\n", first_version ? "hwloc.dtd" : "hwloc2.dtd");
  begin("topology");
  optional("version", document.version);
  open();
  write_object(document.machine);
  for (const HwlocDistances& distances : document.distances) write_distances(distances);
  for (const HwlocElement& other : document.others) write_element(other);
  write_infos(document.infos);
  end("topology");
  return std::move(out_);
}

}  // namespace

std::string write_hwloc_xml(const HwlocXml& document) { return HwlocWriter().write(document); }

}  // namespace weir::topology
