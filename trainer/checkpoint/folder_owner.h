// SPDX-License-Identifier: Apache-2.0
/// The process that writes checkpoints to a folder, one at a time: it has a lock. The kernel releases it when
/// the owner ends, however that happens.
/// Tests: tests/trainer/checkpoint_test.cc
#pragma once

#include <string>

#include "src/base/status.h"

namespace weir::checkpoint {

class FolderOwner {
 public:
  /// Locks an existing folder by a file `lock` in it, which stays there; this also shows that the folder can
  /// be written. invalid_usage with the holder if another process, or another lock of this one, has it.
  static Result<FolderOwner> take(const std::string& folder);
  FolderOwner(FolderOwner&& other) noexcept;
  FolderOwner& operator=(FolderOwner&&) = delete;
  ~FolderOwner();

 private:
  explicit FolderOwner(int file) : file_(file) {}

  int file_;  ///< -1: moved from
};

}  // namespace weir::checkpoint
