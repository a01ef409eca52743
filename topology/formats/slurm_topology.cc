// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/slurm_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "topology/formats/hostlist.h"

namespace weir::topology {
namespace {

constexpr size_t kMostKeys = 5;  // scontrol prints so many for a switch

struct Pair {
  std::string key;  ///< key in lower case
  std::string value;
};

std::string small_letters(std::string_view text) {
  std::string small(text);
  for (char& c : small) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  return small;
}

/// Reads lines with continuations joined and comments removed.
class JoinedLines {
 public:
  explicit JoinedLines(const Source& source) : source_(source), lines_(source.text) {}

  /// False at the end.
  Result<bool> next(std::string& joined) {
    joined.clear();
    std::string_view line;
    if (!lines_.next(line)) return false;
    first_ = lines_.number();
    while (ends_in_backslash(line)) {
      if (line.find('#') != std::string_view::npos) {
        return refuse(source_, lines_.number(),
                      "a comment ends in a backslash; expected none, because the next line would be part of "
                      "the comment");
      }
      joined += line.substr(0, line.rfind('\\'));
      if (!lines_.next(line)) return refuse(source_, lines_.number(), "the file ends after a backslash");
    }
    joined += line.substr(0, line.find('#'));
    return true;
  }
  size_t number() const { return first_; }

 private:
  static bool ends_in_backslash(std::string_view line) { return trim(line).ends_with('\\'); }

  const Source& source_;
  Lines lines_;
  size_t first_ = 0;
};

bool take_pair(Cursor& cursor, Pair& pair) {
  const std::string_view rest = cursor.rest();
  const auto end = std::find_if_not(rest.begin(), rest.end(), is_letter);
  const std::string_view key = rest.substr(0, static_cast<size_t>(end - rest.begin()));
  if (key.empty()) return cursor.miss("a key like SwitchName");
  pair.key = small_letters(key);
  cursor.take(key);
  cursor.blanks();
  if (!cursor.need("=")) return false;
  cursor.blanks();
  std::string_view value;
  const bool quoted = cursor.take("\"");
  if (quoted) {
    value = cursor.rest().substr(0, cursor.rest().find('"'));
    cursor.take(value);
    if (!cursor.need("\"")) return false;
  } else if (!cursor.word("a value", value)) {
    return false;
  }
  if (value.find('"') != std::string_view::npos) return cursor.miss("quotation marks around the whole value");
  pair.value = value;
  return cursor.need_blank();
}

class ConfReader {
 public:
  ConfReader(const Source& source, Notes* notes) : source_(source), notes_(notes), text_(source) {}

  Result<SlurmTopology> run() {
    WEIR_TRY(check_text(source_));
    for (std::string line;;) {
      auto more = text_.next(line);
      WEIR_TRY(more.status());
      if (!*more) break;
      if (!trim(line).empty()) WEIR_TRY(read_line(trim(line)));
    }
    if (topology_.switches.empty() && topology_.blocks.empty()) {
      return refuse(source_, 1,
                    "the file has no switch and no block; expected lines with SwitchName= or BlockName=");
    }
    WEIR_TRY(slurm::check(topology_, [this](size_t item, const std::string& sentence) {
      return refuse(source_, item_lines_[item], sentence);
    }));
    return std::move(topology_);
  }

 private:
  Status wrong(const std::string& sentence) const { return refuse(source_, text_.number(), sentence); }

  Status read_line(std::string_view line) {
    Cursor cursor(line);
    std::vector<Pair> pairs;
    while (!cursor.done()) {
      if (!take_pair(cursor, pairs.emplace_back())) return wrong(cursor.complaint());
      const auto same = [&](const Pair& pair) { return pair.key == pairs.back().key; };
      if (std::count_if(pairs.begin(), pairs.end(), same) > 1)
        return wrong(fmt::format("{}= occurs twice", pairs.back().key));
      if (pairs.size() > kMostKeys) return wrong(fmt::format("the line has more than {} keys", kMostKeys));
    }
    if (pairs[0].key == "switchname") return read_switch(pairs);
    if (pairs[0].key == "blockname") return read_block(pairs);
    if (pairs[0].key == "blocksizes" && pairs.size() == 1) return read_sizes(pairs[0].value);
    if (pairs[0].key == "aggregatedblock") return {};  // scontrol repeats blocks that Slurm combines
    if (pairs[0].key == "ringname")
      return wrong("rings (topology/ring) are not supported; expected a tree or blocks");
    return wrong(fmt::format("the line begins with {}; expected SwitchName=, BlockName= or BlockSizes= alone",
                             shown(pairs[0].key)));
  }

  Status read_switch(const std::vector<Pair>& pairs) {
    SlurmSwitch found;
    bool printed = false;  // by scontrol, with the nodes of all switches below
    WEIR_TRY(read_name(pairs[0].value, found.name));
    for (size_t i = 1; i < pairs.size(); ++i) {
      if (pairs[i].key == "nodes") {
        WEIR_TRY(read_names(pairs[i].value, found.nodes));
      } else if (pairs[i].key == "switches") {
        WEIR_TRY(read_names(pairs[i].value, found.switches));
      } else if (pairs[i].key == "level") {
        int64_t level = 0;
        if (!parse_int(pairs[i].value, level) || level < 0)
          return wrong(fmt::format("Level is {}; expected a whole number", shown(pairs[i].value)));
        printed = true;
      } else if (pairs[i].key == "linkspeed") {
        if (!parse_int(pairs[i].value, found.link_speed) || found.link_speed < 0 ||
            found.link_speed > std::numeric_limits<uint32_t>::max()) {
          return wrong(fmt::format("LinkSpeed is {}; expected a whole number from 0 to {}",
                                   shown(pairs[i].value), std::numeric_limits<uint32_t>::max()));
        }
      } else {
        return wrong(fmt::format("unknown key {}= of a switch; expected Nodes=, Switches= or LinkSpeed=",
                                 pairs[i].key));
      }
    }
    if (printed && !found.switches.empty()) found.nodes.clear();
    if (found.nodes.empty() && found.switches.empty()) WEIR_TRY(note_empty("switch", found.name));
    return keep(std::move(found), topology_.switches);
  }

  Status read_block(const std::vector<Pair>& pairs) {
    SlurmBlock found;
    WEIR_TRY(read_name(pairs[0].value, found.name));
    for (size_t i = 1; i < pairs.size(); ++i) {
      if (pairs[i].key == "blockindex" || pairs[i].key == "blocksize") continue;  // printed by scontrol
      if (pairs[i].key != "nodes")
        return wrong(fmt::format("unknown key {}= of a block; expected Nodes=", pairs[i].key));
      WEIR_TRY(read_names(pairs[i].value, found.nodes));
    }
    if (found.nodes.empty()) WEIR_TRY(note_empty("block", found.name));
    return keep(std::move(found), topology_.blocks);
  }

  Status note_empty(const char* kind, const std::string& name) const {
    return leave_out_line(source_, text_.number(), notes_, slurm::empty_sentence(kind, name));
  }

  /// Adds the item unless it equals an earlier line; other duplicate names are found by slurm::check().
  template <typename T>
  Status keep(T found, std::vector<T>& list) {
    if (list.empty() != item_lines_.empty())
      return wrong("the file has switches and blocks; expected only one of the two");
    const auto [known, is_new] = by_name_.emplace(found.name, list.size());
    if (!is_new && list[known->second] == found) {
      return leave_out_line(source_, text_.number(), notes_,
                            fmt::format("this line repeats line {}", item_lines_[known->second]));
    }
    list.push_back(std::move(found));
    item_lines_.push_back(text_.number());
    return {};
  }

  Status read_sizes(std::string_view text) {
    if (!topology_.block_sizes.empty()) return wrong("BlockSizes= occurs twice; expected one line");
    for (bool more = true; more;) {
      const size_t comma = text.find(',');
      more = comma != std::string_view::npos;
      int64_t size = 0;
      if (!parse_int(text.substr(0, comma), size) || size < 1 || size > static_cast<int64_t>(kMostNames)) {
        return wrong(fmt::format("BlockSizes contains {}; expected whole numbers from 1 to {}",
                                 shown(text.substr(0, comma)), kMostNames));
      }
      if (!topology_.block_sizes.empty() && size <= topology_.block_sizes.back())
        return wrong(fmt::format("BlockSizes has {} after {}; expected growing numbers", size,
                                 topology_.block_sizes.back()));
      topology_.block_sizes.push_back(static_cast<int>(size));
      text.remove_prefix(more ? comma + 1 : text.size());
    }
    return {};
  }

  Status read_name(const std::string& text, std::string& name) {
    std::vector<std::string> names;
    WEIR_TRY(read_names(text, names));
    if (names.size() != 1)
      return wrong(fmt::format("{} contains {} names; expected one", shown(text), names.size()));
    name = std::move(names[0]);
    return {};
  }

  Status read_names(const std::string& text, std::vector<std::string>& names) {
    auto expanded = expand_hostlist(text, budget_);
    if (!expanded.ok()) return wrong(expanded.status().message());
    names = std::move(*expanded);
    return {};
  }

  const Source& source_;
  Notes* notes_;
  JoinedLines text_;
  SlurmTopology topology_;
  std::vector<size_t> item_lines_;  ///< line number of each switch or block
  std::unordered_map<std::string, size_t> by_name_;
  size_t budget_ = kMostNames;
};

}  // namespace

Result<SlurmTopology> read_slurm_topology(const Source& source, Notes* notes) {
  return ConfReader(source, notes).run();
}

}  // namespace weir::topology
