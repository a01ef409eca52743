// SPDX-License-Identifier: Apache-2.0
/// A shared library that is loaded at run time. Many machines lack it, which is an ordinary result.
/// Tests: tests/drivers/tuner_test.cc, tests/drivers/nvml_test.cc
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <string>
#include <utility>

#include "src/base/status.h"

namespace weir::drivers {

/// The library stays loaded until the object is destroyed. Move-only.
class Library {
 public:
  /// Loads the first of `names` that can be loaded; otherwise system_error with the loader's reason for the
  /// last name.
  template <typename... Names>
  static Result<Library> open(Names... names) {
    void* handle = nullptr;
    ((handle = handle != nullptr ? handle : dlopen(names, RTLD_NOW | RTLD_LOCAL)), ...);
    return opened(handle);
  }
  /// Loads a library whose code stays in the process after the object is destroyed, because the library's own
  /// threads may still run it.
  template <typename... Names>
  static Result<Library> open_for_good(Names... names) {
    void* handle = nullptr;
    ((handle = handle != nullptr ? handle : dlopen(names, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)), ...);
    return opened(handle);
  }
  /// Finds the first of `names` that the process has loaded already; loads nothing. system_error if none is
  /// loaded.
  template <typename... Names>
  static Result<Library> open_loaded(Names... names) {
    void* handle = nullptr;
    ((handle = handle != nullptr ? handle : dlopen(names, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD)), ...);
    if (handle == nullptr) return Status(Code::system_error, "the process has not loaded the library");
    return Library(handle);
  }
  /// The number of libraries that the process has loaded so far; while it does not change, the results of
  /// open_loaded() do not change either. Costs some ten nanoseconds.
  static uint64_t loads() {
    uint64_t count = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* result) {
          *static_cast<uint64_t*>(result) = info->dlpi_adds;
          return 1;  // every entry has the same count
        },
        &count);
    return count;
  }
  /// Opens the main program itself.
  static Result<Library> open_program() { return opened(dlopen(nullptr, RTLD_NOW)); }
  Library(Library&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Library& operator=(Library&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Library() {
    if (handle_ != nullptr) dlclose(handle_);
  }

  /// Looks up a function; returns false if the library does not export the name.
  template <typename Function>
  bool find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(dlsym(handle_, name));
    return function != nullptr;
  }
  /// The address of a variable of the library; null if the library does not export the name.
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
