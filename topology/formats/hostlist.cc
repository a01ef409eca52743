// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/hostlist.h"

#include <fmt/format.h>

#include <algorithm>

#include "topology/formats/listing.h"

namespace weir::topology {
namespace {

/// Digit strings that are longer are treated as text.
constexpr size_t kMostDigits = 15;

Status wrong(const std::string& sentence) { return {Code::invalid_argument, sentence}; }

/// Appends the texts of the content of brackets: "01-04,7".
Status expand_bracket(std::string_view content, size_t budget, std::vector<std::string>& texts) {
  std::string_view rest = content;
  for (bool more = true; more;) {
    const size_t comma = rest.find(',');
    more = comma != std::string_view::npos;
    const std::string_view range = rest.substr(0, comma);
    rest.remove_prefix(more ? comma + 1 : rest.size());
    const size_t dash = range.find('-');
    const std::string_view low = range.substr(0, dash);
    const std::string_view high = dash == std::string_view::npos ? low : range.substr(dash + 1);
    int64_t first = 0;
    int64_t last = 0;
    // Signs are rejected by the digit check: a second '-' stays in `high`.
    if (low.size() > kMostDigits || high.size() > kMostDigits || !parse_int(low, first) ||
        !parse_int(high, last) || first < 0 || last < 0) {
      return wrong(fmt::format("[{}] contains {}; expected numbers and ranges like 1-4 or 01-04",
                               content.substr(0, 60), shown(range)));
    }
    if (last < first)
      return wrong(fmt::format("the range {}-{} is descending; expected an ascending one", low, high));
    if (high.size() > low.size() && high.front() == '0') {
      return wrong(
          fmt::format("the ends of the range {}-{} have different numbers of leading zeros", low, high));
    }
    if (static_cast<uint64_t>(last - first) >= budget - std::min(budget, texts.size())) {
      return wrong(
          fmt::format("the range {}-{} is too long; expected at most {} names", low, high, kMostNames));
    }
    for (int64_t number = first; number <= last; ++number)
      texts.push_back(fmt::format("{:0{}}", number, low.size()));
  }
  return {};
}

/// A part of an item: one text, or all texts of a pair of brackets.
using Part = std::vector<std::string>;

size_t longest(const Part& part) {
  return std::max_element(part.begin(), part.end(),
                          [](const auto& a, const auto& b) { return a.size() < b.size(); })
      ->size();
}

/// All combinations of the parts; the last part varies fastest.
void combine(const std::vector<Part>& parts, size_t count, std::vector<std::string>& names) {
  std::vector<size_t> at(parts.size());
  for (size_t made = 0; made < count; ++made) {
    std::string& name = names.emplace_back();
    for (size_t i = 0; i < parts.size(); ++i) name += parts[i][at[i]];
    for (size_t i = parts.size(); i-- > 0;) {
      if (++at[i] < parts[i].size()) break;
      at[i] = 0;
    }
  }
}

/// Removes a quoted name from the front of `rest`.
Status take_quoted(std::string_view& rest, std::string& name) {
  const std::string_view all = rest;
  rest.remove_prefix(1);
  while (!rest.empty() && rest.front() != '"') {
    if (rest.front() == '\\') rest.remove_prefix(1);
    if (rest.empty()) break;
    name += rest.front();
    rest.remove_prefix(1);
  }
  if (rest.empty()) return wrong(fmt::format("a quotation mark is missing after {}", shown(all)));
  rest.remove_prefix(1);
  if (name.empty() || name.size() > kLongestName || !is_printable(name)) {
    return wrong(fmt::format("{} is not a valid name; expected 1 to {} printable characters", shown(name),
                             kLongestName));
  }
  return {};
}

/// Removes one item, up to a comma outside brackets, from the front of `rest`.
Status take_item(std::string_view& rest, size_t budget, std::vector<std::string>& names) {
  const std::string_view all = rest;
  std::vector<Part> parts;
  size_t count = 1;
  size_t length = 0;
  while (!rest.empty() && rest.front() != ',') {
    Part& part = parts.emplace_back();
    if (rest.front() == '[') {
      const size_t end = rest.find(']');
      if (end == std::string_view::npos)
        return wrong(fmt::format("{} has a '[' without its ']'", shown(all)));
      WEIR_TRY(expand_bracket(rest.substr(1, end - 1), budget, part));
      rest.remove_prefix(end + 1);
    } else {
      part.emplace_back(rest.substr(0, rest.find_first_of("[,")));
      if (!is_plain_name(part[0])) {
        return wrong(fmt::format("{} contains characters that are not allowed in names", shown(part[0])));
      }
      rest.remove_prefix(part[0].size());
    }
    if (count > budget / part.size()) {
      return wrong(fmt::format("{} lists more than {} names", shown(all), kMostNames));
    }
    count *= part.size();
    length += longest(part);
    if (length > kLongestName) {
      return wrong(fmt::format("{} contains a name longer than {} characters", shown(all), kLongestName));
    }
  }
  if (parts.empty()) return wrong("the list is empty or has an empty name");
  combine(parts, count, names);
  return {};
}

}  // namespace

bool is_plain_name(std::string_view name) {
  return !name.empty() && is_printable(name) && name.find_first_of(" ,[]\"'#\\=") == std::string_view::npos;
}

std::string quote_name(std::string_view name) {
  if (is_plain_name(name)) return std::string(name);
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

Result<std::vector<std::string>> expand_hostlist(std::string_view text, size_t& budget) {
  std::vector<std::string> names;
  std::string_view rest = text;
  for (bool more = true; more;) {
    std::vector<std::string> item;
    if (rest.starts_with('"')) {
      WEIR_TRY(take_quoted(rest, item.emplace_back()));
    } else {
      WEIR_TRY(take_item(rest, budget, item));
    }
    if (item.size() > budget) {
      return wrong(fmt::format("the list has more than {} names", kMostNames));
    }
    budget -= item.size();
    names.insert(names.end(), std::make_move_iterator(item.begin()), std::make_move_iterator(item.end()));
    if (!rest.empty() && rest.front() != ',') {
      return wrong(fmt::format("found {} after a name in quotation marks, expected ','", shown(rest)));
    }
    more = !rest.empty();
    rest.remove_prefix(more ? 1 : 0);
  }
  return names;
}

namespace {

/// A name split at one of its numbers.
struct Split {
  std::string_view prefix;
  std::string_view digits;
  std::string_view suffix;
};

Split split_at(std::string_view name, size_t begin, size_t end) {
  return {name.substr(0, begin), name.substr(begin, end - begin), name.substr(end)};
}

/// Splits `name` at the number in which `other` first differs from it; false: they differ in more than one
/// number.
bool split_where_different(std::string_view name, std::string_view other, Split& split) {
  const auto different = std::mismatch(name.begin(), name.end(), other.begin(), other.end()).first;
  auto begin = static_cast<size_t>(different - name.begin());
  size_t end = begin;
  while (begin > 0 && is_digit(name[begin - 1])) --begin;
  while (end < name.size() && is_digit(name[end])) ++end;
  if (begin == end || end - begin > kMostDigits) return false;
  split = split_at(name, begin, end);
  return true;
}

/// The digits of `name` if it equals `split` with another number in it, else nothing.
std::string_view digits_like(std::string_view name, const Split& split) {
  const size_t around = split.prefix.size() + split.suffix.size();
  if (name.size() <= around || name.size() - around > kMostDigits) return {};
  const Split own = split_at(name, split.prefix.size(), name.size() - split.suffix.size());
  const bool like = own.prefix == split.prefix && own.suffix == split.suffix &&
                    std::all_of(own.digits.begin(), own.digits.end(), is_digit);
  return like ? own.digits : std::string_view();
}

/// The successor of `digits` in a range that began with `width` digits.
std::string next_number(std::string_view digits, size_t width) {
  int64_t number = 0;
  parse_int(digits, number);
  return fmt::format("{:0{}}", number + 1, width);
}

/// Appends the names from `at` on that share brackets, or one name; returns the position after them.
size_t append_group(const std::vector<std::string>& names, size_t at, std::string& text) {
  Split split;
  const std::string& first = names[at];
  const bool alone = at + 1 == names.size() || !is_plain_name(first) || !is_plain_name(names[at + 1]) ||
                     !split_where_different(first, names[at + 1], split) ||
                     digits_like(names[at + 1], split).empty();
  if (alone) {
    text += quote_name(first);
    return at + 1;
  }
  text += fmt::format("{}[", split.prefix);
  std::string_view low = split.digits;
  while (true) {
    std::string_view high = low;
    std::string_view next;
    for (++at; at < names.size(); ++at) {
      next = digits_like(names[at], split);
      if (next.empty() || next != next_number(high, low.size())) break;
      high = next;
    }
    text += low;
    if (high != low) text += fmt::format("-{}", high);
    if (at == names.size() || next.empty()) break;
    text += ',';
    low = next;
  }
  text += fmt::format("]{}", split.suffix);
  return at;
}

}  // namespace

std::string compress_hostlist(const std::vector<std::string>& names) {
  std::string text;
  for (size_t at = 0; at < names.size();) {
    if (at > 0) text += ',';
    at = append_group(names, at, text);
  }
  return text;
}

}  // namespace weir::topology
