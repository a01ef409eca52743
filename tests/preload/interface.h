// SPDX-License-Identifier: Apache-2.0
/// All functions that NCCL, RCCL and weir agree on, by name, of one library: that of WEIR_INTERFACE_OPEN,
/// which is opened for its opener alone (RTLD_NOW | RTLD_LOCAL), else whatever the program is bound to.
///
/// nccl.h is the newest one here, with RCCL's additions and the functions of the device interface.
#pragma once

#define WEIR_NO_HIP
#define WEIR_NO_CUDA
#include <rccl/rccl.h>
using cudaStream_t = hipStream_t;  // rccl.h takes the name back
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "src/api/device_api.h"

extern "C" {
void ncclResetDebugInitInternal(void);

/// A row of src/api/names.txt; the twin is NULL if there is none.
struct Name {
  const char* plain;
  void (*linked)();
  const char* twin;
  void (*linked_twin)();
};
/// Ends with a row of NULL.
extern const Name weir_interface_names[];
}

namespace weir::preload {

/// What dlsym takes. Ends the program if the library cannot be opened.
inline void* library() {
  const char* const path = std::getenv("WEIR_INTERFACE_OPEN");
  if (path == nullptr) return RTLD_DEFAULT;
  void* const opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(1);
  }
  return opened;
}

/// The functions under their own names or under those of their twins, and which of them were asked for.
class Interface {
 public:
  explicit Interface(bool twins) : twins_(twins) {}

  /// The library's function of that name: `our(ncclAllReduce)(...)`. Ends the program if there is none.
  template <typename Function>
  Function* operator()(Function& linked) {
    const auto address = reinterpret_cast<void (*)()>(&linked);
    for (const Name* name = weir_interface_names; name->plain != nullptr; ++name) {
      if (name->linked != address) continue;
      asked_.insert(name->plain);
      const char* const wanted = twins_ && name->twin != nullptr ? name->twin : name->plain;
      if (void* const found = dlsym(library(), wanted)) return reinterpret_cast<Function*>(found);
      std::fprintf(stderr, "the library has no %s\n", wanted);
      std::exit(1);
    }
    std::fprintf(stderr, "a function is not in the table of names\n");
    std::exit(1);
  }

  /// Names that nobody asked for.
  std::set<std::string> forgotten() const {
    std::set<std::string> names;
    for (const Name* name = weir_interface_names; name->plain != nullptr; ++name) {
      if (asked_.count(name->plain) == 0) names.insert(name->plain);
    }
    return names;
  }

 private:
  const bool twins_;
  std::set<std::string> asked_;
};

}  // namespace weir::preload
