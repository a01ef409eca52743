// SPDX-License-Identifier: Apache-2.0
/// A set of live objects that callers hold as raw pointers, so that any pointer can be checked before it is
/// used.
///
/// Thread-safe. find() shares ownership, so an object that another thread removes meanwhile lives until the
/// caller releases it.
/// Tests: tests/device/host_stream_test.cc
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace weir::device {

template <typename T>
class LiveSet {
 public:
  /// Adds the object and returns the pointer that identifies it.
  T* add(std::shared_ptr<T> object) {
    T* const handle = object.get();
    const std::lock_guard lock(mutex_);
    objects_.emplace(handle, std::move(object));
    return handle;
  }
  /// The object, or null if `handle` is not in the set. `handle` is not dereferenced.
  std::shared_ptr<T> find(const void* handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  /// Removes the object and returns it; null if it is not in the set.
  std::shared_ptr<T> remove(const void* handle) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    if (found == objects_.end()) return nullptr;
    std::shared_ptr<T> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<const void*, std::shared_ptr<T>> objects_;
};

}  // namespace weir::device
