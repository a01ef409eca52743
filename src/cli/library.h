// SPDX-License-Identifier: Apache-2.0
/// Finds the libraries that belong to this program.
/// Tests: tests/cli/launcher_test.cc
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"

namespace weir::cli {

/// Path of weir's libnccl.so.2 relative to this program's folder, in the build tree or as installed.
Result<std::string> find_nccl_library();
/// The same of libweir_heap.so.
Result<std::string> find_heap_library();
/// The same of the stand-ins of CUDA's driver and runtimes, in the order in which they are to be loaded.
Result<std::vector<std::string>> find_stand_ins();

}  // namespace weir::cli
