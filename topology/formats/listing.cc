// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/listing.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::topology {

Status check_text(const Source& source) {
  if (source.text.size() > kMostBytes) {
    return refuse(source, 1,
                  fmt::format("the file has {} bytes; expected at most {}", source.text.size(), kMostBytes));
  }
  const auto wrong = std::find_if(source.text.begin(), source.text.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\n' && c != '\r';
  });
  if (wrong == source.text.end()) return {};
  const auto offset = static_cast<size_t>(wrong - source.text.begin());
  return refuse(source, line_of(source.text, offset),
                fmt::format("byte 0x{:02x} is not text; expected printable characters, tabs and line ends",
                            static_cast<unsigned char>(*wrong)));
}

Status leave_out_line(const Source& source, size_t line, Notes* notes, const std::string& sentence) {
  Status refused = refuse(source, line, sentence);
  if (notes == nullptr) return refused;
  notes->push_back(refused.message());
  return {};
}

Status leave_out(Notes* notes, const std::string& sentence) {
  if (notes == nullptr) return {Code::invalid_argument, sentence};
  notes->push_back(sentence);
  return {};
}

Status refuse_item(size_t, const std::string& sentence) { return {Code::invalid_argument, sentence}; }

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

std::string shown(std::string_view text) {
  constexpr size_t kShown = 60;
  std::string quoted = "\"";
  for (const char c : text.substr(0, kShown)) quoted += c >= ' ' && c <= '~' ? c : '?';
  return quoted + (text.size() > kShown ? "...\"" : "\"");
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

void Cursor::blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size())); }

bool Cursor::take(std::string_view literal) {
  if (!rest_.starts_with(literal)) return false;
  rest_.remove_prefix(literal.size());
  return true;
}

bool Cursor::miss(const std::string& expected) {
  if (complaint_.empty()) {
    complaint_ =
        fmt::format("found {}, expected {}", rest_.empty() ? "the end of the line" : shown(rest_), expected);
  }
  return false;
}

bool Cursor::need(std::string_view literal) { return take(literal) || miss(fmt::format("'{}'", literal)); }
bool Cursor::need_end() { return done() || miss("the end of the line"); }

bool Cursor::need_blank() {
  if (!done() && rest_.front() != ' ' && rest_.front() != '\t') return miss("a blank");
  blanks();
  return true;
}

bool Cursor::number(const char* what, int least, int most, int& value) {
  const auto end = std::find_if_not(rest_.begin(), rest_.end(), is_digit);
  const auto length = static_cast<size_t>(end - rest_.begin());
  int64_t read = 0;
  if (!parse_int(rest_.substr(0, length), read) || read < least || read > most) {
    return miss(fmt::format("{}, a whole number from {} to {}", what, least, most));
  }
  value = static_cast<int>(read);
  rest_.remove_prefix(length);
  return true;
}

bool Cursor::hex(const char* what, uint64_t most, uint64_t& value) {
  const size_t begin = rest_.starts_with("0x") ? 2 : 0;
  const size_t end = std::min(rest_.find_first_not_of("0123456789abcdefABCDEF", begin), rest_.size());
  uint64_t read = 0;
  if (!parse_hex(rest_.substr(begin, end - begin), read) || read > most) {
    return miss(fmt::format("{}, a hexadecimal number up to {:x}", what, most));
  }
  value = read;
  rest_.remove_prefix(end);
  return true;
}

bool Cursor::word(const char* what, std::string_view& value) {
  const size_t end = std::min(rest_.find_first_of(" \t"), rest_.size());
  if (end == 0) return miss(what);
  value = rest_.substr(0, end);
  rest_.remove_prefix(end);
  return true;
}

bool Cursor::quoted(const char* what, std::string& value) {
  const size_t last = rest_.rfind('"');
  if (!rest_.starts_with('"') || last == 0 || !is_printable(rest_.substr(0, last))) {
    return miss(fmt::format("{} in quotation marks", what));
  }
  value = rest_.substr(1, last - 1);
  rest_.remove_prefix(last + 1);
  return true;
}

}  // namespace weir::topology
