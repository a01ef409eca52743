// SPDX-License-Identifier: Apache-2.0
/// The files of a machine that topology detection reads: those of this machine, or those of a recorded
/// machine.
///
/// A recorded machine is a folder with the same paths below it, so any tool can inspect and change it. Links
/// are resolved inside it: no file outside its root is ever read.
///
/// Not thread-safe.
/// Tests: tests/drivers/files_test.cc
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace weir::drivers {

/// Reads files of a machine. Paths are absolute, as on the machine: "/sys/class/net".
class Files {
 public:
  virtual ~Files() = default;
  /// The bytes of a file, at most 16 MiB; nullopt if it cannot be read.
  virtual std::optional<std::string> read_bytes(const std::string& path) = 0;
  /// The bytes of a text file without trailing blanks and line ends.
  std::optional<std::string> read(const std::string& path);
  /// The sorted names in a folder; none if it cannot be read.
  virtual std::vector<std::string> list(const std::string& path) = 0;
  /// The path with all symbolic links resolved; nullopt if it does not exist.
  virtual std::optional<std::string> real_path(const std::string& path) = 0;
};

/// The files below `root`; "" or "/" is this machine.
std::unique_ptr<Files> files_below(const std::string& root);

/// The whole content of a file or pipe of this machine. Errors: system_error if it cannot be read,
/// invalid_argument if it is a folder or larger than `most_bytes`.
Result<std::string> read_whole(const std::string& path, size_t most_bytes);

/// The sorted names in a folder of this machine. A lack of memory is std::bad_alloc, as elsewhere: not so
/// with std::filesystem's iterators, which end the process. Errors: system_error if it cannot be read.
Result<std::vector<std::string>> list_folder(const std::string& path);

/// Returns the results of `inner` (which must outlive it) and keeps copies below `folder`, so that
/// files_below(folder) gives the same results. error() tells what could not be written.
class RecordedFiles final : public Files {
 public:
  RecordedFiles(Files& inner, std::string folder) : inner_(inner), folder_(std::move(folder)) {}

  std::optional<std::string> read_bytes(const std::string& path) override;
  std::vector<std::string> list(const std::string& path) override;
  std::optional<std::string> real_path(const std::string& path) override;

  /// The error of the first file that could not be written (system_error).
  const Status& error() const { return error_; }

 private:
  std::optional<std::string> keep(const std::string& path);
  void note(const std::string& path, const std::error_code& error);

  Files& inner_;
  const std::string folder_;
  Status error_;
};

}  // namespace weir::drivers
