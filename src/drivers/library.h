// SPDX-License-Identifier: Apache-2.0
/// A shared library that is loaded at run time: absent on many machines, which is an ordinary result.
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <string>
#include <utility>

#include "weir/status.h"

namespace weir::drivers {

/// Stays loaded until the object ends. Move-only.
class Library {
 public:
  /// The first of `names` that can be loaded; system_error with the loader's reason for the last one.
  template <typename... Names>
  static Result<Library> open(Names... names) {
    void* handle = nullptr;
    ((handle = handle != nullptr ? handle : dlopen(names, RTLD_NOW | RTLD_LOCAL)), ...);
    return opened(handle);
  }
  /// One whose code stays in the process when the object ends: threads of its own may still run it.
  template <typename... Names>
  static Result<Library> open_for_good(Names... names) {
    void* handle = nullptr;
    ((handle = handle != nullptr ? handle : dlopen(names, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)), ...);
    return opened(handle);
  }
  /// The first of `names` that the process has loaded already; nothing is loaded. system_error where it has
  /// none.
  template <typename... Names>
  static Result<Library> open_loaded(Names... names) {
    void* handle = nullptr;
    ((handle = handle != nullptr ? handle : dlopen(names, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD)), ...);
    if (handle == nullptr) return Status(Code::system_error, "the process has not loaded the library");
    return Library(handle);
  }
  /// How many libraries the process has ever loaded: while it stays, open_loaded() answers as before. Costs
  /// some ten nanoseconds.
  static uint64_t loads() {
    uint64_t count = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* result) {
          *static_cast<uint64_t*>(result) = info->dlpi_adds;
          return 1;  // every entry says the same
        },
        &count);
    return count;
  }
  /// The main program itself.
  static Result<Library> open_program() { return opened(dlopen(nullptr, RTLD_NOW)); }
  Library(Library&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Library& operator=(Library&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Library() {
    if (handle_ != nullptr) dlclose(handle_);
  }

  /// False where the library has no such name.
  template <typename Function>
  bool find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(dlsym(handle_, name));
    return function != nullptr;
  }
  /// Where a variable is in the library; null where it has no such name.
  const void* find_data(const char* name) const { return dlsym(handle_, name); }

 private:
  static Result<Library> opened(void* handle) {
    if (handle != nullptr) return Library(handle);
    const char* const reason = dlerror();
    return Status(Code::system_error, reason != nullptr ? reason : "the library could not be loaded");
  }
  explicit Library(void* handle) : handle_(handle) {}

  void* handle_;
};

}  // namespace weir::drivers
