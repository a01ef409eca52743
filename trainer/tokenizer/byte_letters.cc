// SPDX-License-Identifier: Apache-2.0

#include "trainer/tokenizer/byte_letters.h"

#include <map>

namespace weir::trainer {
namespace {

bool is_printable(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

}  // namespace

std::string letter_of_byte(uint8_t byte) {
  int point = byte;
  if (!is_printable(byte)) {
    point = 0x100;
    for (int before = 0; before < byte; ++before) point += is_printable(before) ? 0 : 1;
  }
  if (point < 0x80) return std::string(1, static_cast<char>(point));
  return {static_cast<char>(0xc0 | point >> 6), static_cast<char>(0x80 | (point & 0x3f))};
}

std::optional<std::string> bytes_of_letters(std::string_view letters) {
  static const std::map<std::string, char> kBytesByLetter = [] {
    std::map<std::string, char> bytes;
    for (int byte = 0; byte < 256; ++byte)
      bytes[letter_of_byte(static_cast<uint8_t>(byte))] = static_cast<char>(byte);
    return bytes;
  }();
  std::string bytes;
  while (!letters.empty()) {
    const size_t length = static_cast<unsigned char>(letters.front()) < 0x80 ? 1 : 2;
    const auto found = kBytesByLetter.find(std::string(letters.substr(0, length)));
    if (found == kBytesByLetter.end()) return std::nullopt;
    bytes += found->second;
    letters.remove_prefix(length);
  }
  return bytes;
}

}  // namespace weir::trainer
