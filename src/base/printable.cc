// SPDX-License-Identifier: Apache-2.0

#include "src/base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace weir {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};
/// Characters that show nothing but change what is shown beside them.
constexpr std::array<Range, 10> kHidden = {{{0x00, 0x1f},
                                            {0x7f, 0x9f},
                                            {0x061c, 0x061c},
                                            {0x200b, 0x200f},
                                            {0x2028, 0x202e},
                                            {0x2060, 0x206f},
                                            {0xd800, 0xdfff},
                                            {0xfeff, 0xfeff},
                                            {0xfff9, 0xfffb},
                                            {0xe0000, 0xe0fff}}};

bool is_hidden(char32_t character) {
  for (const Range& range : kHidden) {
    if (character >= range.first && character <= range.last) return true;
  }
  return false;
}

/// The number of bytes of the printable character at the beginning of `text`; 0: there is none.
size_t printable_bytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return is_hidden(lead) ? 0 : 1;
  const size_t size = lead >> 5 == 0x6 ? 2 : lead >> 4 == 0xe ? 3 : lead >> 3 == 0x1e ? 4 : 0;
  if (size == 0 || text.size() < size) return 0;
  char32_t character = lead & (0xffu >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    if (byte(i) >> 6 != 0x2) return 0;
    character = character << 6 | (byte(i) & 0x3fu);
  }
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  return character < kLeast[size] || character > 0x10ffff || is_hidden(character) ? 0 : size;
}

}  // namespace

std::string printable(std::string_view text, size_t most) {
  constexpr std::string_view kCut = "...";
  std::string shown;
  size_t kept = 0;  // what is left of `shown` where the text has to be cut
  while (!text.empty()) {
    const size_t bytes = printable_bytes(text);
    if (bytes > 0) {
      shown += text.substr(0, bytes);
    } else {
      shown += fmt::format("\\x{:02x}", static_cast<uint8_t>(text[0]));
    }
    if (shown.size() > most) return shown.erase(kept).append(kCut.substr(0, most - kept));
    if (shown.size() + kCut.size() <= most) kept = shown.size();
    text.remove_prefix(std::max<size_t>(bytes, 1));
  }
  return shown;
}

}  // namespace weir
