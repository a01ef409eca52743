// SPDX-License-Identifier: Apache-2.0
/// The files of a machine, as far as detection reads them: the real ones, or those of a machine that was
/// recorded.
///
/// A recorded machine is a folder with the same paths below it, so it can be looked at and changed with any
/// tool. Links are resolved inside it: nothing outside its root is ever read.
///
/// Not thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/status.h"

namespace weir::drivers {

/// Paths are absolute, as on the machine: "/sys/class/net".
class Files {
 public:
  virtual ~Files() = default;
  /// The bytes of a file, as they are; nothing where it cannot be read. At most 16 MiB.
  virtual std::optional<std::string> read_bytes(const std::string& path) = 0;
  /// The same of a text, without blanks and line ends at its end.
  std::optional<std::string> read(const std::string& path);
  /// The names in a folder, sorted; none where it cannot be read.
  virtual std::vector<std::string> list(const std::string& path) = 0;
  /// Where a path leads when all links are followed; nothing where it leads nowhere.
  virtual std::optional<std::string> real_path(const std::string& path) = 0;
};

/// The files below `root`; "" or "/" is this machine.
std::unique_ptr<Files> files_below(const std::string& root);

/// All of a file of this machine, or of a pipe, as it is. Errors: system_error where it cannot be read,
/// invalid_argument where it is a folder or holds more than `most_bytes`.
Result<std::string> read_whole(const std::string& path, size_t most_bytes);

/// Passes on what `inner` gives (which must outlive it) and keeps a copy below `folder`, such that
/// files_below(folder) answers the same questions in the same way. error() tells what could not be written.
class RecordedFiles final : public Files {
 public:
  RecordedFiles(Files& inner, std::string folder) : inner_(inner), folder_(std::move(folder)) {}

  std::optional<std::string> read_bytes(const std::string& path) override;
  std::vector<std::string> list(const std::string& path) override;
  std::optional<std::string> real_path(const std::string& path) override;

  /// system_error with the first file that could not be written.
  const Status& error() const { return error_; }

 private:
  std::optional<std::string> keep(const std::string& path);
  void note(const std::string& path, const std::error_code& error);

  Files& inner_;
  const std::string folder_;
  Status error_;
};

}  // namespace weir::drivers
