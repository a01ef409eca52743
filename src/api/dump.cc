// SPDX-License-Identifier: Apache-2.0
/// The C function of weir/dump.h.
#include "src/api/process.h"

#pragma GCC visibility push(default)
#include "weir/dump.h"
#pragma GCC visibility pop

int weirDump(const char* path) {
  return weir::api::report([&] {
    if (path == nullptr || *path == '\0')
      return weir::Status(weir::Code::invalid_argument, "weirDump : path is NULL or empty");
    return weir::api::runtime().dumper().write(path);
  });
}
