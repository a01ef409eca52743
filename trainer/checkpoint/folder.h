// SPDX-License-Identifier: Apache-2.0
/// The folder in which checkpoints are kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::checkpoint {

/// Suffix of a checkpoint folder's name until the checkpoint is complete.
inline constexpr const char* kTemporary = ".tmp";
/// Prefix of folders by which ranks find out whether they share a folder (shared_folder.h).
inline constexpr const char* kProbe = "probe-";

/// Steps of the checkpoints in a folder, newest first; empty if the folder does not exist.
std::vector<uint64_t> steps_in(const std::string& folder);

/// The checkpoints that a path stands for: those of a folder, or only one of them.
struct Choice {
  std::string folder;
  std::optional<uint64_t> step;  ///< nullopt: all

  /// Newest first.
  std::vector<uint64_t> steps() const;
};

/// "saved/step-00000020" is one in the folder "saved"; any other path is a folder of checkpoints.
Choice choice_of(const std::string& path);

/// Names of folders in it that are incomplete or partly removed checkpoints, or probes.
std::vector<std::string> leftovers(const std::string& folder);

}  // namespace weir::checkpoint
