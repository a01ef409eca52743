// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/topology_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "src/base/text.h"
#include "topology/formats/listing.h"
#include "topology/formats/smi_matrix.h"

namespace weir::topology {
namespace {

/// Compares without regard to case.
bool begins_with_any(std::string_view line, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](std::string_view beginning) {
    return equals_ignoring_case(line.substr(0, beginning.size()), beginning);
  });
}

/// The head of nvidia-smi's matrix; a row has the path X or NV# somewhere.
bool is_matrix_head(std::string_view line) {
  const auto parts = words(line);
  const bool row = std::any_of(parts.begin(), parts.end(), [](std::string_view word) { return word == "X"; });
  int number = 0;
  if (parts.empty() || row) return false;
  return smi::parse_gpu(parts[0], number) || parts[0].starts_with("GPU0GPU");
}

bool is_xml(std::string_view line) {
  return begins_with_any(line, {"<?xml", "<!--", "<!DOCTYPE", "<system", "<topology", "<graphs"});
}

/// A key of a mapping alone on its line, as in YAML: "tree:".
bool is_yaml_key(std::string_view line) {
  if (!line.ends_with(':') || line.size() < 2 || line == "Legend:") return false;
  return std::all_of(line.begin(), line.end() - 1,
                     [](char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-'; });
}

/// "user@host:~$ command", "[user@host dir]$ command", "$ command", "bash-5.2$ command".
bool is_prompt(std::string_view line) {
  line = trim(line);
  if (line == "$" || line.starts_with("$ ") || line.starts_with("% ")) return true;
  const std::string_view first = line.substr(0, line.find_first_of(" \t"));
  if (first.empty() || first.find_first_of("=\"<'") != std::string_view::npos) return false;
  const size_t at = first.find('@');
  if (at != std::string_view::npos && at > 0) return line.find_first_of("$#%>", at) != std::string_view::npos;
  return first.ends_with('$') && first.size() > 1;
}

/// Whether a line behind the topology cannot be part of it.
bool is_foreign(Format format, std::string_view line) {
  switch (format) {
    case Format::slurm_conf: return line.find('=') == std::string_view::npos;
    case Format::slurm_yaml:
      return line.find(':') == std::string_view::npos && !line.starts_with(' ') && !line.starts_with('-') &&
             !line.starts_with("...");
    case Format::ibnetdiscover: return line.find_first_of("=[\"'") == std::string_view::npos;
    default: return false;  // XML ends with its root; the other readers note unknown lines themselves
  }
}

/// Empties lines, and says which.
class Cutter {
 public:
  Cutter(const Source& source, Notes* notes) : source_(source), notes_(notes) {}

  Result<TopologyPart> run() {
    split();
    WEIR_TRY(cut_quotes());
    size_t first = 0;
    while (first < lines_.size() && !begins(first)) ++first;
    if (first == lines_.size()) return TopologyPart{other_format(), false, {}};
    part_.format = format_of(trim(lines_[first]));
    WEIR_TRY(leave_out(0, first, "before the topology"));
    WEIR_TRY(cut_prompts(first));
    WEIR_TRY(part_.format == Format::xml ? cut_behind_root() : cut_behind(first));
    if (part_.changed) join();
    return std::move(part_);
  }

 private:
  void split() {
    Lines lines(source_.text);
    for (std::string_view line; lines.next(line);) lines_.push_back(line);
  }

  /// XML of another kind is recognised only if nothing is before it.
  Format other_format() const {
    const auto content = std::find_if(lines_.begin(), lines_.end(), is_content);
    return content != lines_.end() && trim(*content).starts_with('<') ? Format::xml : Format::unknown;
  }

  static bool is_content(std::string_view line) {
    line = trim(line);
    return !line.empty() && !line.starts_with('#');
  }
  bool begins(size_t line) const {
    return is_content(lines_[line]) && !is_prompt(lines_[line]) &&
           format_of(trim(lines_[line])) != Format::unknown;
  }

  /// Mail and reports quote each line with "> ".
  Status cut_quotes() {
    const auto is_quoted = [](std::string_view line) { return line.empty() || line.starts_with('>'); };
    const auto content = std::find_if(lines_.begin(), lines_.end(), is_content);
    if (content == lines_.end() || !std::all_of(lines_.begin(), lines_.end(), is_quoted)) return {};
    WEIR_TRY(leave_out_line(source_, static_cast<size_t>(content - lines_.begin()) + 1, notes_,
                            "the > before each line is ignored"));
    for (std::string_view& line : lines_)
      line.remove_prefix(line.starts_with("> ") ? 2 : line.empty() ? 0 : 1);
    part_.changed = true;
    return {};
  }

  /// Empties the lines from `begin` to `end` that have content.
  Status leave_out(size_t begin, size_t end, const char* where) {
    size_t count = 0;
    size_t first = 0;
    for (size_t line = begin; line < end; ++line) {
      if (!is_content(lines_[line])) continue;
      if (count++ == 0) first = line;
    }
    if (count == 0) return {};
    WEIR_TRY(
        leave_out_line(source_, first + 1, notes_,
                       fmt::format("{} {} ignored, from {} on", plural(static_cast<int64_t>(count), "line"),
                                   where, shown(trim(lines_[first])))));
    for (size_t line = begin; line < end; ++line) empty(line);
    return {};
  }

  Status cut_prompts(size_t first) {
    if (part_.format == Format::xml) return {};
    for (size_t line = first; line < lines_.size(); ++line) {
      if (!is_content(lines_[line]) || !is_prompt(lines_[line])) continue;
      WEIR_TRY(leave_out_line(source_, line + 1, notes_,
                              fmt::format("the prompt {} is ignored", shown(trim(lines_[line])))));
      empty(line);
    }
    return {};
  }

  Status cut_behind(size_t first) {
    size_t end = lines_.size();
    while (end > first + 1 && (!is_content(lines_[end - 1]) || is_foreign(part_.format, lines_[end - 1])))
      --end;
    return leave_out(end, lines_.size(), "behind the topology");
  }

  /// Cuts what follows the end of the root element, unless it is XML too.
  Status cut_behind_root() {
    const std::string_view text = source_.text;
    size_t last = std::string_view::npos;
    for (const std::string_view end : {"</system>", "</topology>", "</graphs>"}) {
      const size_t found = text.rfind(end);
      if (found != std::string_view::npos && (last == std::string_view::npos || found + end.size() > last))
        last = found + end.size();
    }
    if (last == std::string_view::npos) return {};
    const size_t next = text.find_first_not_of(" \t\r\n", last);
    if (next == std::string_view::npos || text[next] == '<') return {};
    const size_t line = line_of(text, last) - 1;
    const auto kept = static_cast<size_t>(text.data() + last - lines_[line].data());
    const size_t next_line = line_of(text, next) - 1;
    if (next_line == line) {
      WEIR_TRY(leave_out_line(source_, line + 1, notes_, "the text behind the root element is ignored"));
      part_.changed = true;
    }
    lines_[line] = lines_[line].substr(0, kept);
    return leave_out(line + 1, lines_.size(), "behind the topology");
  }

  void empty(size_t line) {
    lines_[line] = {};
    part_.changed = true;
  }

  void join() {
    for (const std::string_view line : lines_) {
      part_.text += line;
      part_.text += '\n';
    }
  }

  const Source& source_;
  Notes* notes_;
  std::vector<std::string_view> lines_;
  TopologyPart part_;
};

}  // namespace

Format format_of(std::string_view line) {
  if (is_xml(line)) return Format::xml;
  if (is_matrix_head(line)) return Format::nvidia_smi;
  if (line.starts_with("===")) return Format::rocm_smi;
  if (line.ends_with(" TABLE:") && !line.starts_with(' ')) return Format::amd_smi;
  if (line.starts_with("weir fabric")) return Format::fabric_file;
  const std::string_view lid = line.starts_with("CA ") ? trim(line.substr(3)) : std::string_view();
  const bool adapter = !lid.empty() && is_digit(lid[0]);
  if (adapter || begins_with_any(line, {"vendid=", "Switch\t", "SW ", "DR path", "Chassis"}))
    return Format::ibnetdiscover;
  if (begins_with_any(line, {"switchname=", "blockname=", "blocksizes=", "aggregatedblock="}))
    return Format::slurm_conf;
  const bool dashes = line.find_first_not_of('-') == std::string_view::npos;
  if ((dashes && line.size() == 3) || line.starts_with("- ") || begins_with_any(line, {"%yaml"}) ||
      is_yaml_key(line))
    return Format::slurm_yaml;
  return Format::unknown;
}

Result<TopologyPart> topology_part_of(const Source& source, Notes* notes) {
  return Cutter(source, notes).run();
}

}  // namespace weir::topology
