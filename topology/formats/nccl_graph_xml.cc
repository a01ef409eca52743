// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/nccl_graph_xml.h"

#include <fmt/format.h>

#include <iterator>

#include "topology/formats/xml.h"

namespace weir::topology {
namespace {

using Need = XmlFile::Need;
using pugi::xml_node;

constexpr int kMostChannels = 1 << 20;

Status read_path_class(const XmlFile& file, xml_node element, const char* attribute, PathClass& value) {
  std::string text;
  WEIR_TRY(file.get(element, attribute, Need::needed, text));
  for (int i = 0; i < kPathClasses; ++i) {
    if (text != name(static_cast<PathClass>(i))) continue;
    value = static_cast<PathClass>(i);
    return {};
  }
  return file.refuse(
      element, fmt::format("{} of <graph> is \"{}\"; expected a path type such as NVL, PIX or SYS", attribute,
                           text.substr(0, 40)));
}

Result<ChannelStop> read_stop(const XmlFile& file, xml_node element) {
  ChannelStop stop;
  stop.is_net = std::string_view(element.name()) == "net";
  uint64_t device = 0;
  WEIR_TRY(file.get_hex(element, "dev", Need::needed, device));
  if (device > INT64_MAX) return file.refuse(element, "dev is greater than 2^63 - 1");
  stop.device = static_cast<int64_t>(device);
  WEIR_TRY(file.get(element, "rank", Need::optional, -1, INT32_MAX, stop.rank));
  return stop;
}

Status read_channel(const XmlFile& file, xml_node element, Notes* notes, ChannelGraph& graph) {
  std::vector<ChannelStop>& stops = graph.channels.emplace_back();
  for (const xml_node child : element.children()) {
    const std::string_view tag = child.name();
    if (tag != "net" && tag != "gpu") {
      WEIR_TRY(file.leave_out(notes, child, fmt::format("unknown element <{}> in <channel>", tag)));
      continue;
    }
    auto stop = read_stop(file, child);
    WEIR_TRY(stop.status());
    stops.push_back(*stop);
  }
  return stops.empty() ? file.refuse(element, "the channel is empty; expected <gpu> and <net>") : Status();
}

Status read_graph(const XmlFile& file, xml_node element, Notes* notes, ChannelGraph& graph) {
  int channels = 0;
  WEIR_TRY(file.get(element, "id", Need::needed, 0, 15, graph.id));
  WEIR_TRY(file.get(element, "pattern", Need::needed, 1, 6, graph.pattern));
  WEIR_TRY(file.get(element, "crossnic", Need::needed, graph.cross_nic));
  WEIR_TRY(file.get(element, "nchannels", Need::needed, 0, kMostChannels, channels));
  WEIR_TRY(file.get_number(element, "speedintra", Need::needed, 0, 1e9, graph.speed_intra));
  WEIR_TRY(file.get_number(element, "speedinter", Need::needed, 0, 1e9, graph.speed_inter));
  WEIR_TRY(file.get_number(element, "latencyinter", Need::optional, 0, 1e9, graph.latency_inter));
  WEIR_TRY(read_path_class(file, element, "typeintra", graph.type_intra));
  WEIR_TRY(read_path_class(file, element, "typeinter", graph.type_inter));
  WEIR_TRY(file.get(element, "samechannels", Need::needed, graph.same_channels));
  for (const xml_node child : element.children()) {
    if (std::string_view(child.name()) == "channel") {
      WEIR_TRY(read_channel(file, child, notes, graph));
    } else {
      WEIR_TRY(file.leave_out(notes, child, fmt::format("unknown element <{}> in <graph>", child.name())));
    }
  }
  if (graph.channels.size() != static_cast<size_t>(channels)) {
    return file.refuse(element, fmt::format("the graph has {} channels; expected {}, the value of nchannels",
                                            graph.channels.size(), channels));
  }
  return {};
}

}  // namespace

Result<std::vector<ChannelGraph>> read_nccl_graph_xml(const Source& source, Notes* notes) {
  auto file = XmlFile::parse(source);
  WEIR_TRY(file.status());
  const xml_node root = file->root();
  if (std::string_view(root.name()) != "graphs")
    return file->refuse(root, fmt::format("the file contains <{}>; expected <graphs>", root.name()));
  int version = 0;
  WEIR_TRY(file->get(root, "version", Need::needed, 1, 1, version));
  std::vector<ChannelGraph> graphs;
  for (const xml_node child : root.children()) {
    if (std::string_view(child.name()) == "graph") {
      WEIR_TRY(read_graph(*file, child, notes, graphs.emplace_back()));
    } else {
      WEIR_TRY(file->leave_out(notes, child, fmt::format("unknown element <{}> in <graphs>", child.name())));
    }
  }
  return graphs;
}

std::string write_nccl_graph_xml(const std::vector<ChannelGraph>& graphs) {
  std::string text = "<graphs version=\"1\">\n";
  const auto add = [&]<typename... Values>(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text), format, std::forward<Values>(values)...);
  };
  for (const ChannelGraph& graph : graphs) {
    add("  <graph id=\"{}\" pattern=\"{}\" crossnic=\"{:d}\" nchannels=\"{}\" speedintra=\"{}\" "
        "speedinter=\"{}\" "
        "latencyinter=\"{}\" typeintra=\"{}\" typeinter=\"{}\" samechannels=\"{:d}\">\n",
        graph.id, graph.pattern, graph.cross_nic, graph.channels.size(), graph.speed_intra, graph.speed_inter,
        graph.latency_inter, name(graph.type_intra), name(graph.type_inter), graph.same_channels);
    for (const std::vector<ChannelStop>& channel : graph.channels) {
      text += "    <channel>\n";
      for (const ChannelStop& stop : channel) {
        add("      <{} dev=\"{:x}\"", stop.is_net ? "net" : "gpu", stop.device);
        if (stop.rank >= 0) add(" rank=\"{}\"", stop.rank);
        text += "/>\n";
      }
      text += "    </channel>\n";
    }
    text += "  </graph>\n";
  }
  return text + "</graphs>\n";
}

}  // namespace weir::topology
