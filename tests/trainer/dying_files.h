// SPDX-License-Identifier: Apache-2.0
/// A file layer whose n-th call fails, or is the last thing that the process does.
#pragma once

#include <unistd.h>

#include <atomic>
#include <string>

#include "trainer/checkpoint/files.h"

namespace weir::checkpoint {

class DyingFiles final : public Files {
 public:
  enum class Way { fails, kills };
  static constexpr int kExitCode = 9;

  /// Call `fatal`, counted from 1; 0: none.
  DyingFiles(Way way, int fatal) : way_(way), fatal_(fatal) {}
  int calls() const { return calls_; }

  Status make_folder(const std::string& path) override {
    WEIR_TRY(next());
    return system_files().make_folder(path);
  }
  Result<int> create(const std::string& path) override {
    WEIR_TRY(next());
    return system_files().create(path);
  }
  /// Leaves half of it written.
  Status write(int file, const void* data, size_t bytes, const std::string& path) override {
    if (calls_ + 1 == fatal_) WEIR_TRY(system_files().write(file, data, bytes / 2, path));
    WEIR_TRY(next());
    return system_files().write(file, data, bytes, path);
  }
  Status sync(int file, const std::string& path) override {
    WEIR_TRY(next());
    return system_files().sync(file, path);
  }
  Status close(int file, const std::string& path) override {
    const Status status = next();
    WEIR_TRY(system_files().close(file, path));
    return status;
  }
  Status sync_folder(const std::string& path) override {
    WEIR_TRY(next());
    return system_files().sync_folder(path);
  }
  Status replace(const std::string& from, const std::string& to) override {
    WEIR_TRY(next());
    return system_files().replace(from, to);
  }
  Status remove(const std::string& path) override {
    WEIR_TRY(next());
    return system_files().remove(path);
  }

 private:
  Status next() {
    if (++calls_ != fatal_) return Status();
    if (way_ == Way::kills) _exit(kExitCode);
    return Status(Code::system_error, "planted failure");
  }

  const Way way_;
  const int fatal_;
  std::atomic<int> calls_{0};
};

}  // namespace weir::checkpoint
