// SPDX-License-Identifier: Apache-2.0
/// The changes that checkpoints make to a file system, one system call each.
#pragma once

#include <cstddef>
#include <string>

#include "weir/status.h"

namespace weir::checkpoint {

/// An interface, so that tests can let each call fail or be the last one. Thread-safe. Errors are
/// system_error with the path and the reason.
class Files {
 public:
  virtual ~Files() = default;
  /// One that exists is fine.
  virtual Status make_folder(const std::string& path) = 0;
  /// A new, empty file, open for writing.
  virtual Result<int> create(const std::string& path) = 0;
  /// All of it. `path` is for the error, here and below.
  virtual Status write(int file, const void* data, size_t bytes, const std::string& path) = 0;
  virtual Status sync(int file, const std::string& path) = 0;
  virtual Status close(int file, const std::string& path) = 0;
  virtual Status sync_folder(const std::string& path) = 0;
  /// `from` becomes `to` at once; what was `to` becomes `from`.
  virtual Status replace(const std::string& from, const std::string& to) = 0;
  /// A file or an empty folder; one that does not exist is fine.
  virtual Status remove(const std::string& path) = 0;
};

/// Those of the operating system.
Files& system_files();

/// A file and all it holds, on disk when it returns.
Status write_file(Files& files, const std::string& path, const std::string& content);
/// A folder of files, `first` before the others; nothing where there is none.
Status remove_folder(Files& files, const std::string& path, const std::string& first);
/// All of a file.
Result<std::string> read_file(const std::string& path);

}  // namespace weir::checkpoint
