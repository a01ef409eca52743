// SPDX-License-Identifier: Apache-2.0
/// The folder in which checkpoints are kept.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weir::checkpoint {

/// Suffix of a checkpoint folder's name until the checkpoint is complete.
inline constexpr const char* kTemporary = ".tmp";

/// Steps of the checkpoints in a folder, newest first; empty if the folder does not exist.
std::vector<uint64_t> steps_in(const std::string& folder);

/// Names of folders in it that are incomplete or partly removed checkpoints.
std::vector<std::string> leftovers(const std::string& folder);

}  // namespace weir::checkpoint
