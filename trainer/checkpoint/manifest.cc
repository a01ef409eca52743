// SPDX-License-Identifier: Apache-2.0

#include "trainer/checkpoint/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "trainer/checkpoint/checksum.h"

namespace weir::checkpoint {
namespace {

/// Splits lines into words, each expected by name.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  /// Begins the next line, which must begin with `keyword`.
  Status line(std::string_view keyword) {
    ++number_;
    const size_t end = rest_.find('\n');
    if (end == std::string_view::npos) return wrong("a line that begins with '" + std::string(keyword) + "'");
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    if (line_.substr(0, keyword.size()) != keyword) return wrong("'" + std::string(keyword) + "'");
    line_.remove_prefix(keyword.size());
    return Status();
  }

  Result<uint64_t> number(int base = 10) {
    uint64_t value = 0;
    if (line_.empty() || line_[0] != ' ') return wrong("a number");
    const auto [stop, error] = std::from_chars(line_.data() + 1, line_.data() + line_.size(), value, base);
    if (error != std::errc() || stop == line_.data() + 1) return wrong("a number");
    line_.remove_prefix(static_cast<size_t>(stop - line_.data()));
    return value;
  }

  Result<std::string> word() {
    const size_t end = std::min(line_.find(' ', 1), line_.size());
    if (end < 2 || line_[0] != ' ') return wrong("a word");
    std::string word(line_.substr(1, end - 1));
    line_.remove_prefix(end);
    return word;
  }

  /// The rest of the line, after a space.
  Result<std::string> name() {
    if (line_.size() < 2 || line_[0] != ' ') return wrong("a name");
    std::string name(line_.substr(1));
    line_ = {};
    return name;
  }

  bool next_begins_with(std::string_view keyword) const { return rest_.starts_with(keyword); }
  Status end_of_line() { return line_.empty() ? Status() : wrong("the end of the line"); }
  /// The rest of the text.
  std::string_view rest() const { return rest_; }

  Status wrong(const std::string& expected) const {
    return Status(Code::invalid_argument, fmt::format("line {}: expected {}", number_, expected));
  }

 private:
  std::string_view rest_;
  std::string_view line_;
  int number_ = 0;
};

/// Reads `count` items after "keyword COUNT"; stops at the first error, so that a wrong count costs nothing.
template <typename T, typename Read>
Status read_all(Lines& reader, std::vector<T>& all, Read&& read) {
  Result<uint64_t> count = reader.number();
  if (!count.ok()) return count.status();
  for (uint64_t i = 0; i < *count; ++i) {
    Result<T> one = read();
    if (!one.ok()) return one.status();
    all.push_back(std::move(*one));
  }
  return Status();
}

Result<shard::Unit> read_unit(Lines& reader) {
  WEIR_TRY(reader.line("unit"));
  Result<uint64_t> parameters = reader.number();
  if (!parameters.ok()) return parameters.status();
  Result<std::string> name = reader.name();
  if (!name.ok()) return name.status();
  return shard::Unit{std::move(*name), *parameters};
}

Result<FileEntry> read_entry(Lines& reader) {
  WEIR_TRY(reader.line("file"));
  FileEntry entry;
  for (auto [value, base] :
       {std::pair{&entry.bytes, 10}, {&entry.records, 10}, {&entry.index_checksum, 16}}) {
    Result<uint64_t> number = reader.number(base);
    if (!number.ok()) return number.status();
    *value = *number;
  }
  WEIR_TRY(reader.end_of_line());
  return entry;
}

Status read_contents(Lines& reader, Contents& contents) {
  WEIR_TRY(reader.line("weir checkpoint 2"));
  WEIR_TRY(reader.end_of_line());
  WEIR_TRY(reader.line("step"));
  Result<uint64_t> step = reader.number();
  if (!step.ok()) return step.status();
  contents.step = *step;
  WEIR_TRY(reader.end_of_line());
  WEIR_TRY(reader.line("words"));
  WEIR_TRY(read_all(reader, contents.words, [&] { return reader.number(); }));
  WEIR_TRY(reader.end_of_line());
  WEIR_TRY(reader.line("arrays"));
  WEIR_TRY(read_all(reader, contents.arrays, [&] { return reader.word(); }));
  WEIR_TRY(reader.end_of_line());
  if (reader.next_begins_with("partial")) {
    WEIR_TRY(reader.line("partial"));
    WEIR_TRY(read_all(reader, contents.partial, [&] { return reader.word(); }));
    WEIR_TRY(reader.end_of_line());
    for (const std::string& name : contents.partial)
      if (std::ranges::find(contents.arrays, name) == contents.arrays.end())
        return reader.wrong("names of arrays");
  }
  WEIR_TRY(reader.line("units"));
  return read_all(reader, contents.units, [&] { return read_unit(reader); });
}

}  // namespace

bool is_partial(const Contents& contents, size_t array) {
  return std::ranges::find(contents.partial, contents.arrays[array]) != contents.partial.end();
}

Status check(const Contents& contents) {
  for (const std::string& name : contents.arrays)
    if (name.empty() || name.find_first_of(" \n") != std::string::npos)
      return Status(Code::invalid_argument, fmt::format("'{}' names an array; expected a word", name));
  for (const shard::Unit& unit : contents.units)
    if (unit.name.empty() || unit.name.find('\n') != std::string::npos)
      return Status(Code::invalid_argument, fmt::format("'{}' names a unit; expected one line", unit.name));
  return Status();
}

std::string text_of(const Manifest& manifest) {
  const Contents& contents = manifest.contents;
  std::string text =
      fmt::format("weir checkpoint 2\nstep {}\nwords {}", contents.step, contents.words.size());
  for (uint64_t word : contents.words) text += fmt::format(" {}", word);
  text += fmt::format("\narrays {}", contents.arrays.size());
  for (const std::string& name : contents.arrays) text += " " + name;
  if (!contents.partial.empty()) text += fmt::format("\npartial {}", contents.partial.size());
  for (const std::string& name : contents.partial) text += " " + name;
  text += fmt::format("\nunits {}\n", contents.units.size());
  for (const shard::Unit& unit : contents.units)
    text += fmt::format("unit {} {}\n", unit.parameters, unit.name);
  text += fmt::format("files {}\n", manifest.files.size());
  for (const FileEntry& file : manifest.files)
    text += fmt::format("file {} {} {:016x}\n", file.bytes, file.records, file.index_checksum);
  return text + fmt::format("checksum {:016x}\n", checksum(text.data(), text.size()));
}

Result<Manifest> parse_manifest(std::string_view text) {
  // The checksum is verified first, so that all damage is reported as damage.
  constexpr size_t kLastLine = 9 + 16 + 1;
  const size_t body = text.size() < kLastLine ? 0 : text.size() - kLastLine;
  if (text.size() < kLastLine ||
      text.substr(body) != fmt::format("checksum {:016x}\n", checksum(text.data(), body)))
    return Status(Code::invalid_argument, "the checksum in the last line does not match the text before it");
  Manifest manifest;
  Lines reader(text.substr(0, body));
  WEIR_TRY(read_contents(reader, manifest.contents));
  WEIR_TRY(reader.end_of_line());
  WEIR_TRY(reader.line("files"));
  WEIR_TRY(read_all(reader, manifest.files, [&] { return read_entry(reader); }));
  if (!reader.rest().empty()) return reader.wrong("nothing after the files");
  return manifest;
}

std::string folder_name(uint64_t step) { return fmt::format("step-{:08}", step); }
std::string file_name(int rank) { return fmt::format("rank-{:05}", rank); }

}  // namespace weir::checkpoint
