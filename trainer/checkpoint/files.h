// SPDX-License-Identifier: Apache-2.0
/// The changes that checkpoints make to a file system, one system call each.
#pragma once

#include <cstddef>
#include <string>

#include "src/base/status.h"

namespace weir::checkpoint {

/// An interface, so that tests can make each call fail or be the last one. Thread-safe. Errors are
/// system_error with the path and the reason.
class Files {
 public:
  virtual ~Files() = default;
  /// Makes a folder; success if it exists.
  virtual Status make_folder(const std::string& path) = 0;
  /// Creates a new, empty file, open for writing.
  virtual Result<int> create(const std::string& path) = 0;
  /// Writes all of the bytes. `path` is for the error message, here and below.
  virtual Status write(int file, const void* data, size_t bytes, const std::string& path) = 0;
  virtual Status sync(int file, const std::string& path) = 0;
  virtual Status close(int file, const std::string& path) = 0;
  virtual Status sync_folder(const std::string& path) = 0;
  /// Renames `from` to `to` atomically; an existing `to` becomes `from`.
  virtual Status replace(const std::string& from, const std::string& to) = 0;
  /// Removes a file or an empty folder; success if it does not exist.
  virtual Status remove(const std::string& path) = 0;
};

/// The operating system's files.
Files& system_files();

/// Writes a file with all its contents; it is on disk when the call returns.
Status write_file(Files& files, const std::string& path, const std::string& content);
/// Removes a folder of files, the file `first` before the others; success if there is no such folder.
Status remove_folder(Files& files, const std::string& path, const std::string& first);
/// Reads a whole file.
Result<std::string> read_file(const std::string& path);

}  // namespace weir::checkpoint
