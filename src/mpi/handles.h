// SPDX-License-Identifier: Apache-2.0
/// A table of objects that a C interface names by numbers. A number is never used twice, so that one that is
/// no longer valid is recognized.
///
/// Any thread may call all functions. An object lives while somebody who has found it holds it.
/// Tests: tests/mpi/calls_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weir::mpi {

template <typename Object>
class Handles {
 public:
  std::uintptr_t add(std::shared_ptr<Object> object) {
    const std::lock_guard lock(mutex_);
    objects_.emplace(++last_, std::move(object));
    return last_;
  }

  /// Null: there is none with this number.
  std::shared_ptr<Object> find(std::uintptr_t number) const {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(number);
    return found == objects_.end() ? nullptr : found->second;
  }

  /// The same, and removes it from the table.
  std::shared_ptr<Object> take(std::uintptr_t number) {
    const std::lock_guard lock(mutex_);
    auto found = objects_.extract(number);
    return found.empty() ? nullptr : std::move(found.mapped());
  }

  /// Removes all objects.
  std::vector<std::shared_ptr<Object>> take_all() {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Object>> all;
    for (auto& [number, object] : objects_) all.push_back(std::move(object));
    objects_.clear();
    return all;
  }

 private:
  /// Larger than the numbers of predefined objects.
  static constexpr std::uintptr_t kFirst = 1U << 16U;

  mutable std::mutex mutex_;
  std::uintptr_t last_ = kFirst;
  std::unordered_map<std::uintptr_t, std::shared_ptr<Object>> objects_;
};

}  // namespace weir::mpi
