// SPDX-License-Identifier: Apache-2.0
/// A library of translated kernels: loads it, sets its machine, and takes what it found.
/// Tests: tests/gpu/ptx/lanes_test.cc
#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "tests/gpu/ptx/control.h"

namespace weir::ptx {

class KernelLibrary {
 public:
  /// Ends the test by an exception where it cannot be loaded. It stays loaded.
  explicit KernelLibrary(const char* path) : library_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) throw std::runtime_error(dlerror());
  }
  template <typename Function>
  Function find(const char* name) const {
    void* const found = dlsym(library_, name);
    if (found == nullptr) throw std::runtime_error(dlerror());
    return reinterpret_cast<Function>(found);
  }
  void set(const Settings& settings) const { find<decltype(&weir_ptx_set)>("weir_ptx_set")(&settings); }
  Report take() const {
    Report report;
    find<decltype(&weir_ptx_take)>("weir_ptx_take")(&report);
    return report;
  }
  std::vector<Coverage> coverage() const {
    std::vector<Coverage> list(64);
    list.resize(find<decltype(&weir_ptx_coverage)>("weir_ptx_coverage")(list.data(), 64));
    return list;
  }

 private:
  void* const library_;
};

}  // namespace weir::ptx
