// SPDX-License-Identifier: Apache-2.0

#include "trainer/exchange/safetensors_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

namespace weir::trainer {
namespace {

using nlohmann::json;

struct ElementType {
  std::string_view name;
  uint64_t bits;
};

constexpr std::array kElementTypes = {
    ElementType{"BOOL", 8},    ElementType{"U8", 8},      ElementType{"I8", 8},   ElementType{"F8_E5M2", 8},
    ElementType{"F8_E4M3", 8}, ElementType{"F8_E8M0", 8}, ElementType{"F4", 4},   ElementType{"F6_E2M3", 6},
    ElementType{"F6_E3M2", 6}, ElementType{"I16", 16},    ElementType{"U16", 16}, ElementType{"F16", 16},
    ElementType{"BF16", 16},   ElementType{"I32", 32},    ElementType{"U32", 32}, ElementType{"F32", 32},
    ElementType{"C64", 64},    ElementType{"F64", 64},    ElementType{"I64", 64}, ElementType{"U64", 64}};

Status damaged(std::string sentence) { return Status(Code::invalid_argument, std::move(sentence)); }

/// The product; nothing if it does not fit into 64 bits.
std::optional<uint64_t> product(const std::vector<uint64_t>& factors, uint64_t by) {
  uint64_t result = by;
  for (const uint64_t factor : factors)
    if (__builtin_mul_overflow(result, factor, &result)) return std::nullopt;
  return result;
}

/// The numbers of a list from 0 on; nothing if it is something else.
std::optional<std::vector<uint64_t>> numbers(const json& entry, const char* key) {
  const auto found = entry.find(key);
  if (found == entry.end() || !found->is_array()) return std::nullopt;
  std::vector<uint64_t> all;
  for (const json& one : *found) {
    if (!one.is_number_unsigned()) return std::nullopt;
    all.push_back(one.get<uint64_t>());
  }
  return all;
}

Status check_size(const TensorEntry& tensor) {
  const auto* const type = std::ranges::find(kElementTypes, tensor.type, &ElementType::name);
  if (type == kElementTypes.end()) {
    std::vector<std::string_view> names;
    for (const ElementType& known : kElementTypes) names.push_back(known.name);
    return damaged(fmt::format("tensor '{}' has the unknown dtype '{}'; expected one of {}", tensor.name,
                               tensor.type, fmt::join(names, ", ")));
  }
  const auto bits = product(tensor.shape, type->bits);
  if (!bits || *bits % 8 != 0 || *bits / 8 != tensor.bytes)
    return damaged(fmt::format("tensor '{}' has {} bytes by its data_offsets; its shape {} of {} takes {}",
                               tensor.name, tensor.bytes, shape_words(tensor.shape), tensor.type,
                               !bits            ? "more than fit into 64 bits"
                               : *bits % 8 != 0 ? "no whole number of bytes"
                                                : std::to_string(*bits / 8)));
  return {};
}

Result<TensorEntry> parse_entry(const std::string& name, const json& entry) {
  TensorEntry tensor{.name = name, .type = {}, .shape = {}};
  if (!entry.is_object())
    return damaged(
        fmt::format("the entry of tensor '{}' is {}; expected an object", name, entry.type_name()));
  const auto type = entry.find("dtype");
  if (type == entry.end() || !type->is_string())
    return damaged(fmt::format("tensor '{}' has no dtype; expected a string such as \"F32\"", name));
  tensor.type = type->get<std::string>();
  auto shape = numbers(entry, "shape");
  if (!shape)
    return damaged(fmt::format("tensor '{}' has no shape; expected a list of numbers from 0", name));
  tensor.shape = std::move(*shape);
  const auto range = numbers(entry, "data_offsets");
  if (!range || range->size() != 2 || (*range)[0] > (*range)[1])
    return damaged(
        fmt::format("tensor '{}' has no data_offsets; expected a list of its first byte and the "
                    "first one after it",
                    name));
  tensor.first = (*range)[0];
  tensor.bytes = (*range)[1] - (*range)[0];
  WEIR_TRY(check_size(tensor));
  return tensor;
}

/// Whether they cover the data, without gaps.
Status check_order(const std::vector<TensorEntry>& tensors, uint64_t data_bytes) {
  uint64_t end = 0;
  std::string before = "the header";
  for (const TensorEntry& tensor : tensors) {
    if (tensor.first + tensor.bytes > data_bytes)
      return damaged(fmt::format("tensor '{}' is in bytes {} to {} of the data; the file has {} bytes of it",
                                 tensor.name, tensor.first, tensor.first + tensor.bytes, data_bytes));
    if (tensor.first < end)
      return damaged(fmt::format("tensor '{}' begins at byte {} of the data, where {} ends only at byte {}",
                                 tensor.name, tensor.first, before, end));
    if (tensor.first > end)
      return damaged(fmt::format("bytes {} to {} of the data, before tensor '{}', belong to no tensor", end,
                                 tensor.first, tensor.name));
    end = tensor.first + tensor.bytes;
    before = fmt::format("tensor '{}'", tensor.name);
  }
  if (end != data_bytes)
    return damaged(
        fmt::format("the file has {} bytes of data; expected {}, where {} ends", data_bytes, end, before));
  return {};
}

/// The header as JSON; refuses names that occur twice, of which the parser would keep one.
Result<json> parse_json(std::string_view header) {
  std::set<std::string> names;
  std::string twice;
  const auto look = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth == 1 && event == json::parse_event_t::key && !names.insert(parsed.get<std::string>()).second)
      twice = parsed.get<std::string>();
    return true;
  };
  json all;
  try {
    all = json::parse(header, look);
  } catch (const json::exception& error) {
    return damaged(fmt::format("the header is not JSON: {}", error.what()));
  }
  if (!twice.empty()) return damaged(fmt::format("the header has two tensors '{}'", twice));
  if (!all.is_object())
    return damaged(fmt::format("the header is JSON's {}; expected an object", all.type_name()));
  return all;
}

}  // namespace

uint64_t TensorEntry::elements() const { return product(shape, 1).value_or(0); }

std::string shape_words(const std::vector<uint64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Result<std::vector<TensorEntry>> parse_safetensors_header(std::string_view header, uint64_t data_bytes) {
  const Result<json> all = parse_json(header);
  WEIR_TRY(all.status());
  std::vector<TensorEntry> tensors;
  for (const auto& [name, entry] : all->items()) {
    if (name == "__metadata__") continue;
    Result<TensorEntry> tensor = parse_entry(name, entry);
    WEIR_TRY(tensor.status());
    tensors.push_back(std::move(*tensor));
  }
  std::ranges::stable_sort(tensors, {}, [](const TensorEntry& tensor) {
    return std::pair(tensor.first, tensor.bytes);  // empty ones first
  });
  WEIR_TRY(check_order(tensors, data_bytes));
  return tensors;
}

std::string safetensors_beginning(const std::vector<TensorEntry>& tensors) {
  nlohmann::ordered_json header = {{"__metadata__", {{"format", "pt"}}}};
  uint64_t first = 0;
  for (const TensorEntry& tensor : tensors) {
    const uint64_t end = first + tensor.elements() * sizeof(float);
    header[tensor.name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {first, end}}};
    first = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that tensors are aligned
  std::string beginning;
  for (int byte = 0; byte < 8; ++byte)
    beginning += static_cast<char>(static_cast<uint64_t>(text.size()) >> (8 * byte) & 0xff);
  return beginning + text;
}

}  // namespace weir::trainer
