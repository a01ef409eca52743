// SPDX-License-Identifier: Apache-2.0
/// Where the libraries are that belong to this program.
#pragma once

#include <string>

#include "weir/status.h"

namespace weir::cli {

/// The path of weir's libnccl.so.2, looked for beside the folder of this program, as built and as installed.
Result<std::string> find_nccl_library();

}  // namespace weir::cli
