// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/nvidia_smi_words.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "src/base/text.h"
#include "topology/formats/listing.h"

namespace weir::topology::smi {
namespace {

constexpr int kMostLinks = 999;

struct PathWord {
  std::string_view word;
  SmiPath path;
};

/// Names of paths.
constexpr std::array<PathWord, 7> kPaths = {{{"X", SmiPath::self},
                                             {"PIX", SmiPath::pix},
                                             {"PXB", SmiPath::pxb},
                                             {"PHB", SmiPath::phb},
                                             {"NODE", SmiPath::node},
                                             {"SYS", SmiPath::sys},
                                             {"SOC", SmiPath::sys}}};

}  // namespace

bool parse_cell(std::string_view word, SmiCell& cell) {
  const auto found =
      std::find_if(kPaths.begin(), kPaths.end(), [word](const PathWord& path) { return path.word == word; });
  if (found != kPaths.end()) {
    cell = {.path = found->path};
    return true;
  }
  int64_t links = 0;
  if (!word.starts_with("NV") || !parse_int(word.substr(2), links) || links < 1 || links > kMostLinks)
    return false;
  cell = {.path = SmiPath::nvlink, .links = static_cast<int>(links)};
  return true;
}

namespace {

/// The words of a line with their columns; tabs stop at multiples of 8.
std::vector<PlacedWord> placed_words(std::string_view line) {
  constexpr size_t kTab = 8;
  std::vector<PlacedWord> found;
  size_t column = 0;
  bool inside = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const bool blank = line[i] == ' ' || line[i] == '\t';
    if (!blank && !inside) found.push_back({line.substr(i, 0), column});
    if (!blank) found.back().text = std::string_view(found.back().text.data(), found.back().text.size() + 1);
    inside = !blank;
    column = line[i] == '\t' ? (column / kTab + 1) * kTab : column + 1;
  }
  return found;
}

/// The length of the first name of a word in which names may touch.
size_t first_name(std::string_view word) {
  for (size_t i = 1; i < word.size(); ++i) {
    if (!is_digit(word[i - 1])) continue;
    for (const std::string_view next : {"GPU", "NIC", "mlx", "CPU"}) {
      if (word.substr(i).starts_with(next)) return i;
    }
  }
  return word.size();
}

/// Takes one cell from the beginning of a word; empty: it begins with none.
std::string_view take_cell(std::string_view& word) {
  size_t length = 0;
  if (word.starts_with("NV")) {
    length = std::min(word.find_first_not_of("0123456789", 2), word.size());
    if (length == 2) return {};
  } else {
    const auto found = std::find_if(kPaths.begin(), kPaths.end(),
                                    [word](const PathWord& path) { return word.starts_with(path.word); });
    if (found == kPaths.end()) return {};
    length = found->word.size();
  }
  const std::string_view cell = word.substr(0, length);
  word.remove_prefix(length);
  return cell;
}

/// Adds a word, divided into the cells that it consists of; what follows cells is a word of its own. A word
/// that does not begin with a cell stays whole.
void add_divided(PlacedWord word, std::vector<PlacedWord>& found) {
  SmiCell cell;
  while (!word.text.empty() && !parse_cell(word.text, cell)) {
    std::string_view rest = word.text;
    const std::string_view first = take_cell(rest);
    if (first.empty()) break;
    found.push_back({first, word.column});
    word = {rest, word.column + first.size()};
  }
  found.push_back(word);
}

bool is_cell(const PlacedWord& word) {
  SmiCell cell;
  return parse_cell(word.text, cell);
}

/// The fields of a row that has tabs between its cells.
std::vector<PlacedWord> tab_fields(std::string_view rest) {
  std::vector<PlacedWord> found;
  while (true) {
    const size_t end = std::min(rest.find('\t'), rest.size());
    const std::string_view field = trim(rest.substr(0, end));
    if (field.empty()) found.push_back({});
    for (const std::string_view word : words(field)) add_divided({word, 0}, found);
    if (end == rest.size()) return found;
    rest.remove_prefix(end + 1);
  }
}

/// Assigns cells to the columns of the head; false: they do not fit.
bool align(const std::vector<PlacedWord>& cells, size_t row, const std::vector<PlacedWord>& head,
           std::vector<std::string_view>& placed) {
  constexpr size_t kNowhere = SIZE_MAX;
  placed.assign(head.size(), {});
  size_t last = kNowhere;
  for (const PlacedWord& cell : cells) {
    const auto distance = [&cell](const PlacedWord& each) {
      return std::abs(static_cast<int64_t>(each.column) - static_cast<int64_t>(cell.column));
    };
    const auto nearest =
        std::min_element(head.begin(), head.end(),
                         [&](const PlacedWord& a, const PlacedWord& b) { return distance(a) < distance(b); });
    const auto column = static_cast<size_t>(nearest - head.begin());
    if ((last != kNowhere && column <= last) || (cell.text == "X") != (column == row)) return false;
    placed[column] = cell.text;
    last = column;
  }
  return true;
}

}  // namespace

std::vector<PlacedWord> head_words(std::string_view line) {
  std::vector<PlacedWord> found;
  for (PlacedWord word : placed_words(line)) {
    while (!word.text.empty()) {
      const size_t length = first_name(word.text);
      found.push_back({word.text.substr(0, length), word.column});
      word = {word.text.substr(length), word.column + length};
    }
  }
  return found;
}

std::string_view row_name(std::string_view line, const std::vector<NvidiaSmiDevice>& devices) {
  const auto parts = words(line);
  if (parts.empty()) return {};
  std::string_view best;
  for (const NvidiaSmiDevice& device : devices) {
    if (!parts[0].starts_with(device.name) || device.name.size() <= best.size()) continue;
    std::string_view rest = parts[0].substr(device.name.size());
    if (rest.empty() || !take_cell(rest).empty()) best = device.name;
  }
  return best;
}

RowWords row_words(std::string_view line, std::string_view name, size_t row,
                   const std::vector<PlacedWord>& head) {
  const size_t size = head.size();
  const size_t begin = line.find(name) + name.size();
  const std::string_view rest = line.substr(begin);
  // A tab may also separate only the columns behind cells that were pasted with blanks.
  const std::string_view first = trim(line.substr(0, line.find('\t')));
  const bool tabs = first.size() < trim(line).size() && first.find(' ') == std::string_view::npos;
  std::vector<PlacedWord> parts;
  if (tabs) {
    const size_t tab = rest.starts_with('\t') ? 1 : 0;
    parts = tab_fields(rest.substr(tab));
  } else {
    for (const PlacedWord& word : placed_words(line)) {
      const auto offset = static_cast<size_t>(word.text.data() - line.data());
      const size_t skipped = offset < begin ? std::min(begin - offset, word.text.size()) : 0;
      if (skipped < word.text.size()) add_divided({word.text.substr(skipped), word.column + skipped}, parts);
    }
  }
  const auto first_other = std::find_if_not(parts.begin(), parts.end(), is_cell);
  const auto leading = static_cast<size_t>(first_other - parts.begin());
  RowWords found;
  size_t cells = std::min(parts.size(), size);
  if (!tabs && leading < size && align({parts.begin(), first_other}, row, head, found.cells)) {
    cells = leading;
  } else {
    found.cells.clear();
    for (size_t i = 0; i < cells; ++i) found.cells.push_back(parts[i].text);
  }
  for (size_t i = cells; i < parts.size(); ++i) found.behind.push_back(parts[i].text);
  return found;
}

void divide_not_given(std::vector<std::string_view>& behind) {
  constexpr std::string_view kNotGiven = "N/A";
  std::vector<std::string_view> divided;
  for (std::string_view word : behind) {
    while (word.size() > kNotGiven.size()) {
      const size_t at = word.find(kNotGiven);
      if (at == std::string_view::npos) break;
      const size_t end = at == 0 ? kNotGiven.size() : at;
      divided.push_back(word.substr(0, end));
      word.remove_prefix(end);
    }
    divided.push_back(word);
  }
  behind = std::move(divided);
}

namespace {

/// The first and last number of "64-95"; nullopt for all else.
std::optional<std::pair<int64_t, int64_t>> read_range(std::string_view text) {
  const size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto number = [](std::string_view digits) -> int64_t {
    int64_t value = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size() ? value : -1;
  };
  const int64_t first = number(text.substr(0, dash)), last = number(text.substr(dash + 1));
  if (first < 0 || last < first) return std::nullopt;
  return std::pair(first, last);
}

}  // namespace

std::set<int64_t> range_lengths(std::string_view list) {
  std::set<int64_t> lengths;
  for (const std::string_view part : split_list(list)) {
    if (const auto range = read_range(part)) lengths.insert(range->second - range->first);
  }
  return lengths;
}

std::optional<std::pair<std::string_view, std::string_view>> divide_list(std::string_view list,
                                                                         const std::set<int64_t>& lengths) {
  const size_t comma = list.rfind(',');
  const size_t begin = comma == std::string_view::npos ? 0 : comma + 1;
  std::set<int64_t> known = range_lengths(list.substr(0, comma == std::string_view::npos ? 0 : comma));
  if (known.empty()) known = lengths;
  const auto fits = [&](size_t end) {
    const auto range = read_range(list.substr(begin, end - begin));
    return range && known.contains(range->second - range->first);
  };
  if (list.empty() || fits(list.size())) return std::nullopt;
  std::optional<std::pair<std::string_view, std::string_view>> found;
  constexpr size_t kMostDigits = 2;  // of the number of a NUMA node
  for (size_t digits = 1; digits <= kMostDigits && begin + digits < list.size(); ++digits) {
    const size_t end = list.size() - digits;
    if ((digits > 1 && list[end] == '0') || !fits(end)) continue;
    if (found) return std::nullopt;
    found.emplace(list.substr(0, end), list.substr(end));
  }
  return found;
}

}  // namespace weir::topology::smi
