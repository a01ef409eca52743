// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace weir::topology {

size_t line_of(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  return 1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
}

Status refuse(const Source& source, size_t line, const std::string& sentence) {
  return {Code::invalid_argument, fmt::format("{}:{}: {}", source.name, line, sentence)};
}

bool Lines::next(std::string_view& line) {
  if (rest_.empty()) return false;
  const size_t end = std::min(rest_.find('\n'), rest_.size());
  line = rest_.substr(0, end);
  rest_.remove_prefix(std::min(end + 1, rest_.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  ++number_;
  return true;
}

std::string_view trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> found;
  while (!(text = trim(text)).empty()) {
    const size_t end = std::min(text.find_first_of(" \t"), text.size());
    found.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return found;
}

namespace {

template <typename T, typename... Base>
bool parse_all(std::string_view text, T& value, Base... base) {
  T read{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read, base...);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  value = read;
  return true;
}

}  // namespace

bool parse_int(std::string_view text, int64_t& value) { return parse_all(text, value, 10); }

bool parse_hex(std::string_view text, uint64_t& value) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  return parse_all(text, value, 16);
}

bool parse_number(std::string_view text, double& value) {
  double read = 0;
  if (!parse_all(text, read) || !std::isfinite(read)) return false;
  value = read;
  return true;
}

bool parse_pci_address(std::string_view text, std::string& value) {
  constexpr std::string_view kForm = "xxxx:xx:xx.f";
  if (text.size() < kForm.size() || text.size() > kForm.size() + 4) return false;
  const size_t longer = text.size() - kForm.size();
  std::string lower;
  for (size_t i = 0; i < text.size(); ++i) {
    const char form = i < longer ? 'x' : kForm[i - longer];
    const char c = text[i] >= 'A' && text[i] <= 'F' ? static_cast<char>(text[i] - 'A' + 'a') : text[i];
    const bool fits = form == 'x'   ? (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')
                      : form == 'f' ? c >= '0' && c <= '7'
                                    : c == form;
    if (!fits) return false;
    lower += c;
  }
  value = std::move(lower);
  return true;
}

}  // namespace weir::topology
