// SPDX-License-Identifier: Apache-2.0

#include "src/cli/pickle.h"

#include <bit>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

namespace weir::cli {
namespace {

using nlohmann::ordered_json;

/// The opcodes that are written, by their names in Python's pickletools.
enum Opcode : char {
  kProto = '\x80',
  kStop = '.',
  kNone = 'N',
  kNewTrue = '\x88',
  kNewFalse = '\x89',
  kBinInt = 'J',
  kLong1 = '\x8a',
  kBinFloat = 'G',
  kBinUnicode = 'X',
  kMark = '(',
  kEmptyList = ']',
  kAppends = 'e',
  kEmptyDict = '}',
  kSetItems = 'u',
};

/// The lowest `bytes` bytes, the lowest first.
void add_bytes(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> 8 * i & 0xff);
}

void add_text(std::string& out, const std::string& text) {
  out += kBinUnicode;
  add_bytes(out, text.size(), 4);
  out += text;
}

void add_integer(std::string& out, const ordered_json& value) {
  const auto signed_value = value.get<int64_t>();
  const bool is_small = value.is_number_unsigned()
                            ? value.get<uint64_t>() <= std::numeric_limits<int32_t>::max()
                            : signed_value == static_cast<int32_t>(signed_value);
  if (is_small) {
    out += kBinInt;
    return add_bytes(out, static_cast<uint64_t>(signed_value), 4);
  }
  out += kLong1;
  const bool needs_sign = value.is_number_unsigned() && signed_value < 0;  // the highest bit is the sign
  out += static_cast<char>(needs_sign ? 9 : 8);
  add_bytes(out, static_cast<uint64_t>(signed_value), 8);
  if (needs_sign) out += '\0';
}

/// The highest byte first, unlike integers.
void add_float(std::string& out, double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  out += kBinFloat;
  for (int i = 7; i >= 0; --i) out += static_cast<char>(bits >> 8 * i & 0xff);
}

void add(std::string& out, const ordered_json& value) {
  switch (value.type()) {
    case ordered_json::value_t::object:
      out += kEmptyDict;
      out += kMark;
      for (const auto& [key, one] : value.items()) {
        add_text(out, key);
        add(out, one);
      }
      out += kSetItems;
      return;
    case ordered_json::value_t::array:
      out += kEmptyList;
      out += kMark;
      for (const ordered_json& one : value) add(out, one);
      out += kAppends;
      return;
    case ordered_json::value_t::string: return add_text(out, value.get_ref<const std::string&>());
    case ordered_json::value_t::boolean: out += value.get<bool>() ? kNewTrue : kNewFalse; return;
    case ordered_json::value_t::number_integer:
    case ordered_json::value_t::number_unsigned: return add_integer(out, value);
    case ordered_json::value_t::number_float: return add_float(out, value.get<double>());
    default: out += kNone; return;
  }
}

}  // namespace

std::string pickle_of(const ordered_json& value) {
  std::string out = {kProto, 2};
  add(out, value);
  out += kStop;
  return out;
}

}  // namespace weir::cli
