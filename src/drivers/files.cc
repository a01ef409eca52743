// SPDX-License-Identifier: Apache-2.0

#include "src/drivers/files.h"

#include <dirent.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>

namespace weir::drivers {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostBytes = size_t{16} << 20;
constexpr int kMostSymlinks = 40;  // links followed in a path, as in the kernel

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

std::vector<std::string> split(const std::string& path) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    if (end > at) parts.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::string join(const std::vector<std::string>& parts) {
  std::string path;
  for (const std::string& part : parts) path += "/" + part;
  return path.empty() ? "/" : path;
}

/// Reads below a root directory.
class DirectFiles final : public Files {
 public:
  explicit DirectFiles(std::string root) : root_(std::move(root)) {
    while (root_.ends_with('/')) root_.pop_back();
  }

  std::optional<std::string> read_bytes(const std::string& path) override {
    const auto real = real_path(path);
    std::error_code error;
    if (!real || !fs::is_regular_file(root_ + *real, error)) return std::nullopt;
    std::ifstream file(root_ + *real, std::ios::binary);
    std::string text;
    char block[4096];  // most files of sysfs are shorter
    while (text.size() < kMostBytes && (file.read(block, sizeof(block)), file.gcount() > 0))
      text.append(block, static_cast<size_t>(file.gcount()));
    if (file.bad() || (text.empty() && !file.eof()))
      return std::nullopt;  // sysfs lets some files be opened but not read
    return text;
  }

  std::vector<std::string> list(const std::string& path) override {
    const auto real = real_path(path);
    if (!real) return {};
    auto names = list_folder(root_ + *real);
    return names.ok() ? std::move(*names) : std::vector<std::string>();
  }

  std::optional<std::string> real_path(const std::string& path) override {
    std::vector<std::string> parts, wanted = split(path);
    std::reverse(wanted.begin(), wanted.end());
    int links = 0;
    while (!wanted.empty()) {
      const std::string part = std::move(wanted.back());
      wanted.pop_back();
      if (part == ".") continue;
      if (part == "..") {
        if (!parts.empty()) parts.pop_back();
        continue;
      }
      parts.push_back(part);
      std::error_code error;
      const fs::path here = root_ + join(parts);
      const fs::file_status status = fs::symlink_status(here, error);
      if (!fs::exists(status)) return std::nullopt;
      if (!fs::is_symlink(status)) continue;
      const std::string target = fs::read_symlink(here, error);
      if (error || ++links > kMostSymlinks) return std::nullopt;
      if (target.starts_with('/'))
        parts.clear();
      else
        parts.pop_back();
      const std::vector<std::string> steps = split(target);
      wanted.insert(wanted.end(), steps.rbegin(), steps.rend());
    }
    return join(parts);
  }

 private:
  std::string root_;
};

}  // namespace

std::optional<std::string> Files::read(const std::string& path) {
  std::optional<std::string> text = read_bytes(path);
  if (text) text->erase(text->find_last_not_of(" \t\r\n") + 1);
  return text;
}

std::unique_ptr<Files> files_below(const std::string& root) { return std::make_unique<DirectFiles>(root); }

Result<std::vector<std::string>> list_folder(const std::string& path) {
  const std::unique_ptr<DIR, CloseFolder> folder(opendir(path.c_str()));
  std::vector<std::string> names;
  errno = folder != nullptr ? 0 : errno;
  while (const dirent* const entry = folder != nullptr ? readdir(folder.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) {
    const std::string why = std::error_code(errno, std::generic_category()).message();
    return Status(Code::system_error, fmt::format("{} cannot be read: {}", path, why));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> read_whole(const std::string& path, size_t most_bytes) {
  std::error_code error;
  if (fs::is_directory(path, error))
    return Status(Code::invalid_argument, fmt::format("{} is a folder; expected a file", path));
  std::ifstream stream(path, std::ios::binary);
  std::string text;
  char block[1 << 16];
  while (stream.read(block, sizeof(block)),
         stream.gcount() > 0) {  // the size of a pipe is not known in advance
    text.append(block, static_cast<size_t>(stream.gcount()));
    if (text.size() > most_bytes) {
      return Status(Code::invalid_argument,
                    fmt::format("{} is larger than the limit of {} bytes", path, most_bytes));
    }
  }
  if (stream.eof()) return text;
  const std::string why = std::error_code(errno, std::generic_category()).message();
  return Status(Code::system_error, fmt::format("{} cannot be read: {}", path, why));
}

void RecordedFiles::note(const std::string& path, const std::error_code& error) {
  if (error_.ok())
    error_ = {Code::system_error, fmt::format("{} could not be written: {}", path, error.message())};
}

/// Copies the links along `path` and creates its target: a folder, or an empty file, which read_bytes()
/// fills. Files that were listed but not read stay empty, so that list() gives the same names.
std::optional<std::string> RecordedFiles::keep(const std::string& path) {
  std::optional<std::string> here = "";
  for (const std::string& name : split(path)) {
    const std::string step = *here + "/" + name;
    here = inner_.real_path(step);
    if (!here) return std::nullopt;
    std::error_code error;
    const fs::path copy = folder_ + *here;
    if (!fs::exists(fs::symlink_status(copy, error))) {
      const bool folder = !inner_.list(*here).empty();
      fs::create_directories(folder ? copy : copy.parent_path(), error);
      if (!folder) std::ofstream(copy, std::ios::binary);
    }
    const fs::path link = folder_ + step;
    if (*here != step && name != "." && name != ".." && !fs::exists(fs::symlink_status(link, error)))
      fs::create_symlink(copy.lexically_relative(link.parent_path()), link, error);
    if (error) note(copy, error);
  }
  return here->empty() ? "/" : here;
}

std::optional<std::string> RecordedFiles::read_bytes(const std::string& path) {
  std::optional<std::string> text = inner_.read_bytes(path);
  if (!text) return text;
  const std::string copy = folder_ + *keep(path);
  std::ofstream file(copy, std::ios::binary | std::ios::trunc);
  file << *text;
  file.close();
  if (!file) note(copy, std::make_error_code(std::errc::io_error));
  return text;
}

std::vector<std::string> RecordedFiles::list(const std::string& path) {
  std::vector<std::string> names = inner_.list(path);
  for (const std::string& name : names) keep(path + "/" + name);
  return names;
}

std::optional<std::string> RecordedFiles::real_path(const std::string& path) { return keep(path); }

}  // namespace weir::drivers
