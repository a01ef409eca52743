// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/topology_yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <unordered_set>

#include "topology/formats/hostlist.h"
#include "topology/formats/yaml.h"

namespace weir::topology {
namespace {

using Kind = YamlNode::Kind;

const char* kind_name(Kind kind) {
  return kind == Kind::scalar ? "a word" : kind == Kind::sequence ? "a list" : "a mapping";
}

class YamlReader {
 public:
  YamlReader(const Source& source, Notes* notes) : source_(source), notes_(notes) {}

  Result<SlurmTopologies> run() {
    auto root = parse_yaml(source_);
    WEIR_TRY(root.status());
    if (root->kind != Kind::sequence) {
      return wrong(*root,
                   fmt::format("the file is {}; expected a list of topologies (- topology: NAME), as in "
                               "Slurm's topology.yaml",
                               kind_name(root->kind)));
    }
    std::unordered_set<std::string> names;
    for (const YamlNode& node : root->items) {
      bool left_out = false;
      SlurmTopologies::Named found;
      WEIR_TRY(read_named(node, found, left_out));
      if (!names.insert(found.name).second)
        return wrong(node, fmt::format("topology {} occurs twice", shown(found.name)));
      if (!left_out) result_.list.push_back(std::move(found));
    }
    if (result_.list.empty())
      return wrong(*root, "the file contains no topology of the kinds tree, block and flat");
    return std::move(result_);
  }

 private:
  Status wrong(const YamlNode& node, const std::string& sentence) const {
    return refuse(source_, node.line, sentence);
  }

  Status need(const YamlNode& node, Kind kind, const std::string& what) const {
    if (node.kind == kind) return {};
    return wrong(node, fmt::format("{} is {}; expected {}", what, kind_name(node.kind), kind_name(kind)));
  }

  /// Requires a mapping that has only the given keys, and the first of them.
  Status need_keys(const YamlNode& node, const std::string& what,
                   std::initializer_list<const char*> keys) const {
    WEIR_TRY(need(node, Kind::mapping, what));
    for (size_t i = 0; i < node.keys.size(); ++i) {
      if (std::find(keys.begin(), keys.end(), node.keys[i]) == keys.end()) {
        return wrong(node.items[i], fmt::format("{} has the key {}; expected {}", what, shown(node.keys[i]),
                                                fmt::join(keys, ", ")));
      }
    }
    if (node.find(*keys.begin()) == nullptr)
      return wrong(node, fmt::format("{} has no key {}", what, *keys.begin()));
    return {};
  }

  Status read_named(const YamlNode& node, SlurmTopologies::Named& found, bool& left_out) {
    WEIR_TRY(need_keys(node, "a topology",
                       {"topology", "cluster_default", "tree", "block", "flat", "ring", "torus3d"}));
    const YamlNode& name = *node.find("topology");
    WEIR_TRY(need(name, Kind::scalar, "the name of a topology"));
    if (name.text.empty() || name.text.size() > kLongestName || !is_printable(name.text))
      return wrong(name, fmt::format("{} is not a valid topology name", shown(name.text)));
    found.name = name.text;
    if (const YamlNode* value = node.find("cluster_default"))
      WEIR_TRY(read_bool(*value, found.cluster_default));
    const YamlNode* one = nullptr;
    std::string kind;
    for (const char* key : {"tree", "block", "flat", "ring", "torus3d"}) {
      const YamlNode* value = node.find(key);
      if (value == nullptr) continue;
      if (one != nullptr)
        return wrong(*value,
                     fmt::format("topology {} has {} and {}; expected only one", found.name, kind, key));
      one = value;
      kind = key;
    }
    if (one == nullptr)
      return wrong(node,
                   fmt::format("topology {} has none of tree, block and flat; expected one", found.name));
    if (kind == "tree") return read_tree(*one, found.topology);
    if (kind == "block") return read_blocks(*one, found.topology);
    if (kind == "flat") return read_flat(*one);
    left_out = true;
    return leave_out_line(
        source_, node.line, notes_,
        fmt::format("topology {} of the kind {} is ignored; expected tree, block or flat", found.name, kind));
  }

  Status read_bool(const YamlNode& node, bool& value) const {
    for (const char* word : {"true", "True", "TRUE"})
      value = value || (node.kind == Kind::scalar && node.text == word);
    const bool no = node.text == "false" || node.text == "False" || node.text == "FALSE";
    if (node.kind == Kind::scalar && value != no) return {};
    return wrong(node, fmt::format("found {}; expected true or false",
                                   node.kind == Kind::scalar ? shown(node.text) : kind_name(node.kind)));
  }

  Status read_flat(const YamlNode& node) const {
    bool value = false;
    WEIR_TRY(read_bool(node, value));
    return value ? Status() : wrong(node, "flat is false; expected true, or tree or block instead");
  }

  Status read_tree(const YamlNode& node, SlurmTopology& topology) {
    WEIR_TRY(need_keys(node, "a tree", {"switches"}));
    const YamlNode& list = *node.find("switches");
    WEIR_TRY(need(list, Kind::sequence, "switches"));
    if (list.items.empty()) return wrong(list, "the tree has no switches");
    for (const YamlNode& item : list.items) {
      SlurmSwitch& one = topology.switches.emplace_back();
      WEIR_TRY(need_keys(item, "a switch", {"switch", "children", "nodes"}));
      WEIR_TRY(read_name(*item.find("switch"), one.name));
      if (const YamlNode* children = item.find("children")) WEIR_TRY(read_names(*children, one.switches));
      if (const YamlNode* nodes = item.find("nodes")) WEIR_TRY(read_nodes(*nodes, one.nodes));
      if (one.nodes.empty() && one.switches.empty()) WEIR_TRY(note_empty(item, "switch", one.name));
    }
    return check(list, topology);
  }

  Status read_blocks(const YamlNode& node, SlurmTopology& topology) {
    WEIR_TRY(need_keys(node, "a block topology", {"blocks", "block_sizes"}));
    const YamlNode& list = *node.find("blocks");
    WEIR_TRY(need(list, Kind::sequence, "blocks"));
    if (list.items.empty()) return wrong(list, "the topology has no blocks");
    for (const YamlNode& item : list.items) {
      SlurmBlock& block = topology.blocks.emplace_back();
      WEIR_TRY(need_keys(item, "a block", {"block", "nodes"}));
      WEIR_TRY(read_name(*item.find("block"), block.name));
      if (const YamlNode* nodes = item.find("nodes")) WEIR_TRY(read_nodes(*nodes, block.nodes));
      if (block.nodes.empty()) WEIR_TRY(note_empty(item, "block", block.name));
    }
    if (const YamlNode* sizes = node.find("block_sizes")) WEIR_TRY(read_sizes(*sizes, topology.block_sizes));
    return check(list, topology);
  }

  Status check(const YamlNode& list, const SlurmTopology& topology) const {
    return slurm::check(topology, [&](size_t item, const std::string& sentence) {
      return wrong(list.items[item], sentence);
    });
  }

  Status read_sizes(const YamlNode& node, std::vector<int>& sizes) const {
    WEIR_TRY(need(node, Kind::sequence, "block_sizes"));
    for (const YamlNode& item : node.items) {
      int64_t size = 0;
      WEIR_TRY(need(item, Kind::scalar, "a size of blocks"));
      if (!parse_int(item.text, size) || size < 1 || size > static_cast<int64_t>(kMostNames) ||
          (!sizes.empty() && size <= sizes.back())) {
        return wrong(item,
                     fmt::format("block_sizes contains {}; expected ascending whole numbers from 1 to {}",
                                 shown(item.text), kMostNames));
      }
      sizes.push_back(static_cast<int>(size));
    }
    return {};
  }

  Status read_name(const YamlNode& node, std::string& name) {
    std::vector<std::string> names;
    WEIR_TRY(read_names(node, names));
    if (names.size() != 1) return wrong(node, fmt::format("found {} names; expected one", names.size()));
    name = std::move(names[0]);
    return {};
  }

  /// Reads names of nodes; nothing, null, "" and [] are none.
  Status read_nodes(const YamlNode& node, std::vector<std::string>& names) {
    const bool none =
        node.kind == Kind::scalar && (node.text.empty() || node.text == "null" || node.text == "~");
    if (none || (node.kind == Kind::sequence && node.items.empty())) return {};
    return read_names(node, names);
  }

  Status note_empty(const YamlNode& node, const char* kind, const std::string& name) const {
    return leave_out_line(source_, node.line, notes_, slurm::empty_sentence(kind, name));
  }

  /// Reads a list of names, or a sequence of such lists.
  Status read_names(const YamlNode& node, std::vector<std::string>& names) {
    if (node.kind == Kind::scalar) return append_names(node, names);
    WEIR_TRY(need(node, Kind::sequence, "a list of names"));
    if (node.items.empty()) return wrong(node, "the list is empty");
    for (const YamlNode& item : node.items) {
      WEIR_TRY(need(item, Kind::scalar, "an item of a list of names"));
      WEIR_TRY(append_names(item, names));
    }
    return {};
  }

  Status append_names(const YamlNode& node, std::vector<std::string>& names) {
    auto expanded = expand_hostlist(node.text, budget_);
    if (!expanded.ok()) return wrong(node, expanded.status().message());
    names.insert(names.end(), expanded->begin(), expanded->end());
    return {};
  }

  const Source& source_;
  Notes* notes_;
  SlurmTopologies result_;
  size_t budget_ = kMostNames;
};

}  // namespace

Result<SlurmTopologies> read_topology_yaml(const Source& source, Notes* notes) {
  return YamlReader(source, notes).run();
}

Result<Graph> graph_of(const SlurmTopologies& topologies, std::string_view name) {
  const auto& list = topologies.list;
  const auto wanted = [&](const SlurmTopologies::Named& named) {
    return name.empty() ? named.cluster_default || list.size() == 1 : named.name == name;
  };
  const auto found = std::find_if(list.begin(), list.end(), wanted);
  if (found != list.end()) return graph_of(found->topology);
  std::string names;
  for (const SlurmTopologies::Named& named : list)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", named.name);
  return Status(Code::invalid_argument,
                name.empty()
                    ? fmt::format("no topology is the default; expected the name of one of: {}", names)
                    : fmt::format("unknown topology {}; expected one of: {}", shown(name), names));
}

}  // namespace weir::topology
