// SPDX-License-Identifier: Apache-2.0

#include "src/api/newer_struct.h"

#include <fmt/format.h>

#include <climits>
#include <cstring>

#include "src/api/abi.h"

namespace weir::api {

std::string unknown_fields(const char* type, const void* config, size_t size, size_t known,
                           unsigned version) {
  if (version <= NCCL_VERSION_CODE || size <= known) return {};
  std::string set;
  for (size_t at = known; at + sizeof(int) <= size; at += sizeof(int)) {
    int value = 0;
    std::memcpy(&value, static_cast<const std::byte*>(config) + at, sizeof(value));
    if (value != 0 && value != INT_MIN) set += fmt::format("{}{} ({})", set.empty() ? "" : ", ", at, value);
  }
  return fmt::format(
      "{} is of NCCL {}.{}.{}, and this library knows {}.{}.{}: the fields in its bytes {} to {} have no "
      "effect; "
      "{}",
      type, version / 10000, version / 100 % 100, version % 100, NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH, known,
      size - 1, set.empty() ? "none of them is set" : "set are those at " + set);
}

}  // namespace weir::api
