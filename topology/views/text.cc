// SPDX-License-Identifier: Apache-2.0

#include "topology/views/text.h"

#include <fmt/format.h>

#include <cmath>

namespace weir::topology {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";
constexpr std::string_view kEllipsis = "\xe2\x80\xa6";

/// One UTF-8 character at the beginning of a text.
struct Character {
  uint32_t code = 0;
  size_t bytes = 1;
  bool sound = false;
};

bool allowed_in_xml(uint32_t code) {
  if (code < 0x20) return code == '\t' || code == '\n' || code == '\r';
  return code != 0x7f && code < 0x110000 && (code < 0xd800 || code > 0xdfff) && code != 0xfffe &&
         code != 0xffff;
}

Character first_character(std::string_view text) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned head = byte(0);
  if (head < 0x80) return {head, 1, allowed_in_xml(head)};
  const size_t bytes = head >= 0xf0 && head < 0xf8 ? 4 : head >= 0xe0 ? 3 : 2;
  if (head < 0xc2 || head >= 0xf8 || text.size() < bytes) return {};
  uint32_t code = head & (0xffu >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fu);
  }
  static constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[bytes] || !allowed_in_xml(code)) return {};
  return {code, bytes, true};
}

/// Width in units of the font size: the widest of the usual fonts.
double character_width(uint32_t code) {
  if (code >= 0x80) return code < 0x250 || (code >= 0x2000 && code < 0x2200) ? 0.85 : 1.1;
  const auto is_in = [&](std::string_view set) { return set.find(static_cast<char>(code)) != set.npos; };
  if (is_in("ijlI.,:;'|! ")) return 0.34;
  if (is_in("frt()[]/\\-\"`*{}")) return 0.45;
  if (is_in("mwMW@%")) return 1;
  if (is_in("+=<>~^#&")) return 0.84;
  if (code >= 'A' && code <= 'Z') return 0.75;
  return 0.64;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_character(text);
    switch (character.code) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += character.sound ? text.substr(0, character.bytes) : kReplacement;
    }
    text.remove_prefix(character.bytes);
  }
  return out;
}

double text_width(std::string_view text, double size, bool bold) {
  double width = 0;
  while (!text.empty()) {
    const Character character = first_character(text);
    width += character.sound ? character_width(character.code) : 1.1;
    text.remove_prefix(character.bytes);
  }
  return width * size * (bold ? 1.1 : 1);
}

std::string fitted(std::string_view text, double width, double size, bool bold) {
  if (text_width(text, size, bold) <= width) return std::string(text);
  width -= text_width(kEllipsis, size, bold);
  if (width < size / 2) return "";
  size_t kept = 0;
  while (kept < text.size()) {
    const size_t next = kept + first_character(text.substr(kept)).bytes;
    if (text_width(text.substr(0, next), size, bold) > width) break;
    kept = next;
  }
  while (kept > 0 && text[kept - 1] == ' ') --kept;
  return kept == 0 ? "" : fmt::format("{}{}", text.substr(0, kept), kEllipsis);
}

std::string fitted_name(std::string_view name, double width, double size, bool bold) {
  if (text_width(name, size, bold) <= width) return std::string(name);
  // The end gets up to a third of the width, the beginning the rest.
  size_t tail = name.size();
  for (size_t at = name.size(); at-- > 0;) {
    if ((static_cast<unsigned char>(name[at]) & 0xc0) == 0x80) continue;
    if (text_width(name.substr(at), size, bold) > width / 3) break;
    tail = at;
  }
  const std::string_view end = name.substr(tail);
  const std::string start = fitted(name.substr(0, tail), width - text_width(end, size, bold), size, bold);
  return start.empty() || !start.ends_with(kEllipsis) ? fitted(name, width, size, bold)
                                                      : start + std::string(end);
}

std::string first_fitting(std::initializer_list<std::string> texts, double width, double size, bool bold) {
  std::string last;
  for (const std::string& text : texts) {
    if (text_width(text, size, bold) <= width) return text;
    last = text;
  }
  return fitted(last, width, size, bold);
}

std::string figure(double value) {
  if (!(value > 0)) return "0";
  if (value < 0.001) return "<0.001";
  if (value < 99.95) return fmt::format("{:.3g}", value);
  if (value >= 1e15) return fmt::format("{:.3g}", value);
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 2);
  return fmt::format("{:.0f}", std::round(value / unit) * unit);
}

std::string rate(double gb_per_s) { return gb_per_s > 0 ? figure(gb_per_s) + " GB/s" : "? GB/s"; }

}  // namespace weir::topology
