// SPDX-License-Identifier: Apache-2.0
/// The folder that checkpoints are in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weir::checkpoint {

/// What a folder is called until its checkpoint is complete: its name and this.
inline constexpr const char* kTemporary = ".tmp";

/// Steps of the checkpoints in a folder, the newest first; none where there is no folder.
std::vector<uint64_t> steps_in(const std::string& folder);

/// Names of folders in it that are no checkpoints any more, or not yet.
std::vector<std::string> leftovers(const std::string& folder);

}  // namespace weir::checkpoint
