// SPDX-License-Identifier: Apache-2.0
/// The C function of weir/unique_id.h.
#include <cstring>

#include "src/api/handle.h"
#include "src/api/process.h"

#pragma GCC visibility push(default)
#include "weir/unique_id.h"
#pragma GCC visibility pop

namespace weir::api {
namespace {

Status id_at(const char* address, void* out) {
  if (out == nullptr) return null_argument("weirGetUniqueIdAt", "id");
  const auto id = address != nullptr ? runtime().id_at(address) : runtime().new_id();
  WEIR_TRY(id.status());
  const auto bytes = id->encode();
  std::memcpy(out, bytes.data(), bytes.size());
  return {};
}

}  // namespace
}  // namespace weir::api

int weirGetUniqueIdAt(const char* address, void* id) {
  return weir::api::report([&] { return weir::api::id_at(address, id); });
}
