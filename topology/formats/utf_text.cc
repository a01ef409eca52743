// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/utf_text.h"

#include <algorithm>

namespace weir::topology {
namespace {

constexpr std::string_view kMark8 = "\xef\xbb\xbf";
constexpr std::string_view kNoBreakSpace = "\xc2\xa0";

constexpr std::string_view kEscape = "\x1b[";

enum class Encoding { utf8, utf16_little, utf16_big };

/// Whether each of the first characters is ASCII in UTF-16: a byte 0 beside another one.
bool begins_wide(std::string_view text, bool little) {
  constexpr size_t kCharacters = 4;
  if (text.size() < 2) return false;
  for (size_t at = 0; at + 1 < text.size() && at < 2 * kCharacters; at += 2) {
    const char low = text[little ? at : at + 1], high = text[little ? at + 1 : at];
    if (low == '\0' || high != '\0') return false;
  }
  return true;
}

Encoding encoding_of(std::string_view text) {
  if (text.starts_with("\xff\xfe") || begins_wide(text, true)) return Encoding::utf16_little;
  if (text.starts_with("\xfe\xff") || begins_wide(text, false)) return Encoding::utf16_big;
  return Encoding::utf8;
}

void append(std::string& text, uint32_t point) {
  const auto put = [&text](uint32_t byte) { text += static_cast<char>(byte); };
  const auto rest = [&](int shift) { put(0x80 | ((point >> shift) & 0x3f)); };
  if (point < 0x80) return put(point);
  if (point < 0x800) {
    put(0xc0 | (point >> 6));
  } else if (point < 0x10000) {
    put(0xe0 | (point >> 12));
    rest(6);
  } else {
    put(0xf0 | (point >> 18));
    rest(12);
    rest(6);
  }
  rest(0);
}

/// The 16-bit units of a text.
class Units {
 public:
  Units(std::string_view text, bool little) : text_(text), little_(little) {}
  bool done() const { return at_ + 1 >= text_.size(); }
  bool odd() const { return text_.size() % 2 != 0; }
  size_t offset() const { return at_; }
  uint32_t next() {
    const auto first = static_cast<unsigned char>(text_[at_]);
    const auto second = static_cast<unsigned char>(text_[at_ + 1]);
    at_ += 2;
    return little_ ? first | uint32_t{second} << 8 : second | uint32_t{first} << 8;
  }

 private:
  std::string_view text_;
  bool little_;
  size_t at_ = 0;
};

/// False: a surrogate has no partner, or the text ends within a unit.
bool decode(Units units, std::string& text) {
  constexpr uint32_t kMark = 0xfeff;
  const auto is_high = [](uint32_t unit) { return unit >= 0xd800 && unit < 0xdc00; };
  const auto is_low = [](uint32_t unit) { return unit >= 0xdc00 && unit < 0xe000; };
  if (units.odd()) return false;
  while (!units.done()) {
    const bool first = units.offset() == 0;
    uint32_t point = units.next();
    if (first && point == kMark) continue;
    if (is_low(point)) return false;
    if (is_high(point)) {
      const uint32_t low = units.done() ? 0 : units.next();
      if (!is_low(low)) return false;
      point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
    }
    append(text, point);
  }
  return true;
}

/// Removes the sequences by which terminals colour and underline text: ESC [, parameters, a letter.
void remove_escapes(std::string& text) {
  std::string plain;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text.compare(at, kEscape.size(), kEscape) != 0) {
      plain += text[at];
      continue;
    }
    at = text.find_first_not_of("0123456789;:<=>?", at + kEscape.size());
    if (at == std::string::npos) break;
    if (text[at] == '\n') plain += '\n';  // the sequence was cut
  }
  text = std::move(plain);
}

/// Lines of old Macs end with CR, and texts that were converted twice with CR CR LF.
bool has_odd_line_ends(std::string_view text) {
  if (text.find("\r\r\n") != std::string_view::npos) return true;
  return text.find('\r') != std::string_view::npos && text.find('\n') == std::string_view::npos;
}

void mend_line_ends(std::string& text) {
  if (text.find('\n') == std::string::npos) {
    std::replace(text.begin(), text.end(), '\r', '\n');
    return;
  }
  std::string mended;
  for (size_t at = 0; at < text.size(); ++at) {
    const size_t next = text.find_first_not_of('\r', at);
    const bool ends = text[at] == '\r' && next != std::string::npos && text[next] == '\n';
    if (ends) at = next;
    mended += text[at];
  }
  text = std::move(mended);
}

}  // namespace

bool needs_decoding(std::string_view text) {
  return encoding_of(text) != Encoding::utf8 || text.starts_with(kMark8) ||
         text.find(kNoBreakSpace) != std::string_view::npos || text.find(kEscape) != std::string_view::npos ||
         has_odd_line_ends(text);
}

Result<std::string> utf8_of(const Source& source) {
  std::string text;
  const Encoding encoding = encoding_of(source.text);
  if (encoding != Encoding::utf8) {
    if (!decode(Units(source.text, encoding == Encoding::utf16_little), text))
      return refuse(source, 1, "the text begins like UTF-16, but is malformed; expected UTF-8 or UTF-16");
  } else {
    text = source.text.substr(source.text.starts_with(kMark8) ? kMark8.size() : 0);
  }
  for (size_t at = text.find(kNoBreakSpace); at != std::string::npos; at = text.find(kNoBreakSpace, at + 1))
    text.replace(at, kNoBreakSpace.size(), " ");
  if (text.find(kEscape) != std::string::npos) remove_escapes(text);
  if (has_odd_line_ends(text)) mend_line_ends(text);
  return text;
}

}  // namespace weir::topology
