// SPDX-License-Identifier: Apache-2.0
/// Finds the libraries that belong to this program.
/// Tests: tests/cli/launcher_test.cc
#pragma once

#include <string>

#include "src/base/status.h"

namespace weir::cli {

/// Path of weir's libnccl.so.2 relative to this program's folder, in the build tree or as installed.
Result<std::string> find_nccl_library();
/// The same of libweir_heap.so.
Result<std::string> find_heap_library();

}  // namespace weir::cli
