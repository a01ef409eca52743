// SPDX-License-Identifier: Apache-2.0
// NCCL 2.30's access to parameters by name: the table of options, with this process's values.
#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <optional>

#include "src/api/process.h"
#include "src/base/log.h"
#include "src/base/options.h"
#include "src/base/per_thread.h"

namespace weir::api {
namespace {

// A handle is a row of the table.
const OptionRow* row_of(ncclParamHandle_t handle) {
  for (const OptionRow& row : option_table()) {
    if (reinterpret_cast<const ncclParamHandle*>(&row) == handle) return &row;
  }
  return nullptr;
}

Status unknown_handle(const char* function) {
  return {Code::invalid_argument, fmt::format("{} : the handle was not made by ncclParamBind", function)};
}

const OptionRow* find(const char* key) {
  for (const OptionRow& row : option_table()) {
    if (key != nullptr && row.name == key) return &row;
  }
  return nullptr;
}

Status unknown_key(const char* function, const char* key) {
  return {Code::invalid_argument,
          fmt::format("{} : there is no parameter '{}'; ncclParamGetAllParameterKeys lists all", function,
                      key == nullptr ? "NULL" : key)};
}

std::string text_of(const OptionRow& row) { return value_text(runtime().options(), row); }

/// The value as an integer of type T, if it fits.
template <typename T>
Status read_number(const char* function, ncclParamHandle_t handle, T* out) {
  const OptionRow* const row = row_of(handle);
  if (row == nullptr || out == nullptr) return unknown_handle(function);
  const std::string text = text_of(*row);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return {Code::invalid_argument,
            fmt::format("{} : {} is '{}', which does not fit the requested type", function, row->name, text)};
  }
  *out = value;
  return {};
}

template <typename T>
ncclResult_t get_number(const char* function, ncclParamHandle_t handle, T* out) {
  return report([&] { return read_number(function, handle, out); });
}

Status bind(ncclParamHandle_t* out, const char* key) {
  if (out == nullptr) return null_argument("ncclParamBind", "out");
  const OptionRow* const row = find(key);
  *out = reinterpret_cast<ncclParamHandle_t>(const_cast<OptionRow*>(row));
  return row == nullptr ? unknown_key("ncclParamBind", key) : Status();
}

Status get_text(ncclParamHandle_t handle, const char** out) {
  static PerThread<std::string> texts;
  const OptionRow* const row = row_of(handle);
  if (row == nullptr || out == nullptr) return unknown_handle("ncclParamGetStr");
  std::string& text = texts.get();
  text = text_of(*row);
  *out = text.c_str();
  return {};
}

/// The bytes of the text, without a terminating zero.
Status copy_text(ncclParamHandle_t handle, void* out, int most, int* length) {
  const OptionRow* const row = row_of(handle);
  if (row == nullptr || out == nullptr || length == nullptr) return unknown_handle("ncclParamGet");
  const std::string text = text_of(*row);
  if (most < 0 || text.size() > static_cast<size_t>(most)) {
    return {Code::invalid_argument,
            fmt::format("ncclParamGet : {} needs {} bytes, but maxLen is {}", row->name, text.size(), most)};
  }
  std::memcpy(out, text.data(), text.size());
  *length = static_cast<int>(text.size());
  return {};
}

Status get_by_key(const char* key, const char** value, int* length) {
  static PerThread<std::string> texts;
  if (value == nullptr || length == nullptr)
    return {Code::invalid_argument, "ncclParamGetParameter : value and valueLen may not be NULL"};
  const OptionRow* const row = find(key);
  if (row == nullptr) return unknown_key("ncclParamGetParameter", key);
  std::string& text = texts.get();
  text = text_of(*row);
  *value = text.c_str();
  *length = static_cast<int>(text.size());
  return {};
}

Status all_keys(const char*** table, int* length) {
  static PerThread<std::vector<const char*>> all;
  if (table == nullptr || length == nullptr)
    return {Code::invalid_argument, "ncclParamGetAllParameterKeys : table and tableLen may not be NULL"};
  std::vector<const char*>& keys = all.get();
  keys.clear();
  for (const OptionRow& row : option_table())
    keys.push_back(row.name.data());  // the names are literals, so they end with a zero
  *table = keys.data();
  *length = static_cast<int>(keys.size());
  return {};
}

}  // namespace
}  // namespace weir::api

using namespace weir;
using namespace weir::api;

ncclResult_t pncclParamBind(ncclParamHandle_t* out, const char* key) {
  return report([&] { return bind(out, key); });
}
WEIR_WEAK_ALIAS(ncclParamBind);

ncclResult_t pncclParamGetI8(ncclParamHandle_t handle, int8_t* out) {
  return get_number("ncclParamGetI8", handle, out);
}
WEIR_WEAK_ALIAS(ncclParamGetI8);
ncclResult_t pncclParamGetI16(ncclParamHandle_t handle, int16_t* out) {
  return get_number("ncclParamGetI16", handle, out);
}
WEIR_WEAK_ALIAS(ncclParamGetI16);
ncclResult_t pncclParamGetI32(ncclParamHandle_t handle, int32_t* out) {
  return get_number("ncclParamGetI32", handle, out);
}
WEIR_WEAK_ALIAS(ncclParamGetI32);
ncclResult_t pncclParamGetI64(ncclParamHandle_t handle, int64_t* out) {
  return get_number("ncclParamGetI64", handle, out);
}
WEIR_WEAK_ALIAS(ncclParamGetI64);
ncclResult_t pncclParamGetU8(ncclParamHandle_t handle, uint8_t* out) {
  return get_number("ncclParamGetU8", handle, out);
}
WEIR_WEAK_ALIAS(ncclParamGetU8);
ncclResult_t pncclParamGetU16(ncclParamHandle_t handle, uint16_t* out) {
  return get_number("ncclParamGetU16", handle, out);
}
WEIR_WEAK_ALIAS(ncclParamGetU16);
ncclResult_t pncclParamGetU32(ncclParamHandle_t handle, uint32_t* out) {
  return get_number("ncclParamGetU32", handle, out);
}
WEIR_WEAK_ALIAS(ncclParamGetU32);
ncclResult_t pncclParamGetU64(ncclParamHandle_t handle, uint64_t* out) {
  return get_number("ncclParamGetU64", handle, out);
}
WEIR_WEAK_ALIAS(ncclParamGetU64);

ncclResult_t pncclParamGetStr(ncclParamHandle_t handle, const char** out) {
  return report([&] { return get_text(handle, out); });
}
WEIR_WEAK_ALIAS(ncclParamGetStr);

ncclResult_t pncclParamGet(ncclParamHandle_t handle, void* out, int maxLen, int* len) {
  return report([&] { return copy_text(handle, out, maxLen, len); });
}
WEIR_WEAK_ALIAS(ncclParamGet);

ncclResult_t pncclParamGetParameter(const char* key, const char** value, int* valueLen) {
  return report([&] { return get_by_key(key, value, valueLen); });
}
WEIR_WEAK_ALIAS(ncclParamGetParameter);

ncclResult_t pncclParamGetAllParameterKeys(const char*** table, int* tableLen) {
  return report([&] { return all_keys(table, tableLen); });
}
WEIR_WEAK_ALIAS(ncclParamGetAllParameterKeys);

void pncclParamDumpAll() {
  report([] {
    for (const OptionRow& row : option_table()) WEIR_INFO(env, "{}={}", row.name, text_of(row));
    return Status();
  });
}
WEIR_WEAK_ALIAS(ncclParamDumpAll);
