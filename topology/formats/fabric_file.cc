// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/fabric_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "topology/formats/hostlist.h"
#include "topology/formats/link_speed.h"
#include "topology/formats/listing.h"

namespace weir::topology {
namespace {

using fabric::FabricList;

/// Largest value of levels, ports, counts and rails.
constexpr int kMostNumber = 1'000'000;

/// Splits a line into words, up to a comment; blanks and '#' in quotation marks are part of a word.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> found;
  size_t begin = std::string_view::npos;
  bool quoted = false;
  for (size_t i = 0; i <= line.size(); ++i) {
    const char c = i < line.size() ? line[i] : '#';
    if (quoted && i < line.size()) {
      if (c == '\\' && i + 1 < line.size()) ++i;
      quoted = c != '"';
      continue;
    }
    const bool ends = c == ' ' || c == '\t' || c == '#';
    if (ends && begin != std::string_view::npos) found.push_back(line.substr(begin, i - begin));
    if (c == '#') break;
    if (ends)
      begin = std::string_view::npos;
    else if (begin == std::string_view::npos)
      begin = i;
    quoted = c == '"';
  }
  return found;
}

class FabricReader {
 public:
  explicit FabricReader(const Source& source) : source_(source), text_(source.text) {}

  Result<FabricFile> run() {
    WEIR_TRY(check_text(source_));
    WEIR_TRY(read_title());
    for (std::string_view line; text_.next(line);) {
      words_ = words_of(line);
      at_ = 0;
      if (!words_.empty()) WEIR_TRY(read_line());
    }
    WEIR_TRY(fabric::check(file_, [this](FabricList part, size_t item, const std::string& sentence) {
      return refuse(source_, lines_[static_cast<size_t>(part)][item], sentence);
    }));
    return std::move(file_);
  }

 private:
  Status wrong(const std::string& sentence) const { return refuse(source_, text_.number(), sentence); }
  Status expected(const std::string& what) const {
    return wrong(fmt::format("found {}, expected {}",
                             at_ < words_.size() ? shown(words_[at_]) : "the end of the line", what));
  }
  bool take(std::string_view word) {
    if (at_ == words_.size() || words_[at_] != word) return false;
    ++at_;
    return true;
  }
  Status need(std::string_view word) { return take(word) ? Status() : expected(fmt::format("'{}'", word)); }
  Status need_end() const { return at_ == words_.size() ? Status() : expected("the end of the line"); }
  void note_line(FabricList part) { lines_[static_cast<size_t>(part)].push_back(text_.number()); }

  Status read_title() {
    std::string_view line;
    text_.next(line);
    words_ = words_of(line);
    if (!take("weir") || !take("fabric"))
      return refuse(source_, 1, "wrong title; expected 'weir fabric 1' as the first line");
    if (!take("1")) return refuse(source_, 1, "unknown version; expected version 1, 'weir fabric 1'");
    return need_end();
  }

  Status read_line() {
    if (take("leaf")) return read_switches(1, false);
    if (take("spine")) return read_switches(2, false);
    if (take("switch")) return read_switches(0, false);
    if (take("island")) return read_switches(1, true);
    if (take("host")) return read_hosts();
    if (take("cable")) return read_cable();
    if (take("attach")) return read_attachment();
    return expected("leaf, spine, switch, island, host, cable or attach");
  }

  Status read_switches(int level, bool island) {
    FabricSwitches found;
    found.level = level;
    found.island = island;
    WEIR_TRY(read_names(found.names));
    if (level == 0) {
      WEIR_TRY(need("level"));
      WEIR_TRY(read_number("a level", found.level));
    }
    WEIR_TRY(read_guid(found.guid));
    file_.switches.push_back(std::move(found));
    note_line(FabricList::switches);
    return need_end();
  }

  Status read_hosts() {
    std::vector<std::string> names;
    WEIR_TRY(read_names(names));
    for (std::string& name : names) {
      file_.hosts.push_back(std::move(name));
      note_line(FabricList::hosts);
    }
    return need_end();
  }

  Status read_cable() {
    FabricCable found;
    WEIR_TRY(read_names(found.from));
    WEIR_TRY(need("to"));
    WEIR_TRY(read_names(found.to));
    WEIR_TRY(read_speed(found.count, found.gbit_per_s));
    file_.cables.push_back(std::move(found));
    note_line(FabricList::cables);
    return need_end();
  }

  Status read_attachment() {
    FabricAttachment found;
    WEIR_TRY(read_names(found.hosts));
    if (take("nic")) {
      WEIR_TRY(read_names(found.nics));
      if (take("port")) WEIR_TRY(read_number("a port", found.port));
    }
    WEIR_TRY(need("to"));
    WEIR_TRY(read_names(found.switches));
    WEIR_TRY(read_speed(found.count, found.gbit_per_s));
    if (take("rail")) WEIR_TRY(read_rails(found.rails));
    WEIR_TRY(read_guid(found.guid));
    file_.attachments.push_back(std::move(found));
    note_line(FabricList::attachments);
    return need_end();
  }

  Status read_names(std::vector<std::string>& names) {
    if (at_ == words_.size()) return expected("a list of names");
    auto expanded = expand_hostlist(words_[at_], budget_);
    if (!expanded.ok()) return wrong(expanded.status().message());
    names = std::move(*expanded);
    ++at_;
    return {};
  }

  Status read_number(const char* what, int& value) {
    int64_t read = 0;
    if (at_ == words_.size() || !parse_int(words_[at_], read) || read < 1 || read > kMostNumber)
      return expected(fmt::format("{}, a whole number from 1 to {}", what, kMostNumber));
    value = static_cast<int>(read);
    ++at_;
    return {};
  }

  Status read_speed(int& count, double& gbit_per_s) {
    std::string_view word = at_ == words_.size() ? "" : words_[at_];
    const size_t digits = std::min(word.find_first_not_of("0123456789"), word.size());
    if (digits > 0 && digits < word.size() && word[digits] == 'x') {
      int64_t read = 0;
      if (!parse_int(word.substr(0, digits), read) || read < 1 || read > kMostNumber)
        return expected(fmt::format("1 to {} cables", kMostNumber));
      count = static_cast<int>(read);
      word.remove_prefix(digits + 1);
    }
    if (!parse_bandwidth(word, gbit_per_s)) return expected("a speed like 400G or 4x400G (Gbit/s), or ?");
    ++at_;
    return {};
  }

  Status read_rails(std::vector<int>& rails) {
    const std::string list = fmt::format("[{}]", at_ == words_.size() ? "" : words_[at_]);
    auto numbers = expand_hostlist(list, budget_);
    if (!numbers.ok() || std::count(list.begin(), list.end(), '[') != 1)
      return expected("rails like 0, 0-7 or 0,2");
    for (const std::string& number : *numbers) {
      int64_t rail = 0;
      if (!parse_int(number, rail) || rail > kMostNumber)
        return expected(fmt::format("rails from 0 to {}", kMostNumber));
      rails.push_back(static_cast<int>(rail));
    }
    ++at_;
    return {};
  }

  Status read_guid(uint64_t& guid) {
    if (!take("guid")) return {};
    if (at_ == words_.size() || !parse_hex(words_[at_], guid) || guid == 0)
      return expected("a GUID, a hexadecimal number of 64 bits");
    ++at_;
    return {};
  }

  const Source& source_;
  Lines text_;
  std::vector<std::string_view> words_;
  size_t at_ = 0;
  FabricFile file_;
  std::vector<size_t> lines_[4];  ///< line number of each item; index: FabricList
  size_t budget_ = kMostNames;
};

std::string speed(int count, double gbit_per_s) {
  return (count == 1 ? "" : fmt::format("{}x", count)) + write_bandwidth(gbit_per_s);
}

std::string guid_words(uint64_t guid) { return guid == 0 ? "" : fmt::format(" guid 0x{:x}", guid); }

void write_attachment(const FabricAttachment& one, std::string& text) {
  text += fmt::format("attach {}", compress_hostlist(one.hosts));
  if (!one.nics.empty()) text += fmt::format(" nic {}", compress_hostlist(one.nics));
  if (!one.nics.empty() && one.port != 1) text += fmt::format(" port {}", one.port);
  text += fmt::format(" to {} {}", compress_hostlist(one.switches), speed(one.count, one.gbit_per_s));
  if (!one.rails.empty()) {
    std::vector<std::string> rails;
    for (const int rail : one.rails) rails.push_back(std::to_string(rail));
    std::string list = compress_hostlist(rails);
    // Numbers that share brackets need no text around them.
    std::erase_if(list, [](char c) { return c == '[' || c == ']'; });
    text += fmt::format(" rail {}", list);
  }
  text += guid_words(one.guid) + '\n';
}

}  // namespace

Result<FabricFile> read_fabric_file(const Source& source, Notes*) { return FabricReader(source).run(); }

std::string write_fabric_file(const FabricFile& fabric) {
  std::string text = "weir fabric 1\n";
  for (const FabricSwitches& one : fabric.switches) {
    const bool plain = one.island || one.level == 1 || one.level == 2;
    text += fmt::format("{} {}",
                        one.island       ? "island"
                        : one.level == 1 ? "leaf"
                        : plain          ? "spine"
                                         : "switch",
                        compress_hostlist(one.names));
    if (!plain) text += fmt::format(" level {}", one.level);
    text += guid_words(one.guid) + '\n';
  }
  if (!fabric.hosts.empty()) text += fmt::format("host {}\n", compress_hostlist(fabric.hosts));
  for (const FabricCable& one : fabric.cables) {
    text += fmt::format("cable {} to {} {}\n", compress_hostlist(one.from), compress_hostlist(one.to),
                        speed(one.count, one.gbit_per_s));
  }
  for (const FabricAttachment& one : fabric.attachments) write_attachment(one, text);
  return text;
}

}  // namespace weir::topology
