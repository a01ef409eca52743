// SPDX-License-Identifier: Apache-2.0
/// Objects that callers hold as raw pointers, so that any pointer at all can be checked before it is used.
///
/// Thread-safe. find() shares ownership, so an object that another thread destroys meanwhile lives until it
/// is let go.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace weir::device {

template <typename T>
class LiveSet {
 public:
  /// Takes the object in. The pointer names it from now on.
  T* add(std::shared_ptr<T> object) {
    T* const handle = object.get();
    const std::lock_guard lock(mutex_);
    objects_.emplace(handle, std::move(object));
    return handle;
  }
  /// The object, or null when `handle` is not one of these. `handle` is not looked into.
  std::shared_ptr<T> find(const void* handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  /// Takes the object out; null when it is not in.
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
