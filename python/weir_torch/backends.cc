// SPDX-License-Identifier: Apache-2.0

#include "python/weir_torch/backends.h"

#include <mutex>
#include <utility>
#include <vector>

namespace weir_torch {
namespace {

struct Known {
  std::mutex mutex;
  std::vector<c10::weak_intrusive_ptr<Backend>> backends;
};

Known& known() {
  static auto* const all = new Known;
  return *all;
}

}  // namespace

c10::intrusive_ptr<Backend> create_backend(BackendFacts facts) {
  auto backend = c10::make_intrusive<Backend>(std::move(facts));
  const std::lock_guard lock(known().mutex);
  std::erase_if(known().backends, [](const auto& one) { return one.expired(); });
  known().backends.emplace_back(backend);
  return backend;
}

void close_backends() {
  std::vector<c10::weak_intrusive_ptr<Backend>> taken;
  {
    const std::lock_guard lock(known().mutex);
    taken.swap(known().backends);
  }
  for (const auto& one : taken) {
    if (const auto backend = one.lock()) backend->close();
  }
}

}  // namespace weir_torch
