// SPDX-License-Identifier: Apache-2.0

#include "trainer/checkpoint/folder.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <optional>

#include "trainer/checkpoint/manifest.h"

namespace weir::checkpoint {
namespace {

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.is_directory(error)) names.push_back(entry.path().filename().string());
  return names;
}

/// Accepts only names that this program writes.
std::optional<uint64_t> step_of(const std::string& name) {
  const size_t dash = name.find('-');
  if (dash == std::string::npos) return std::nullopt;
  uint64_t step = 0;
  std::from_chars(name.data() + dash + 1, name.data() + name.size(), step);
  return name == folder_name(step) ? std::optional<uint64_t>(step) : std::nullopt;
}

}  // namespace

std::vector<uint64_t> Choice::steps() const { return step ? std::vector<uint64_t>{*step} : steps_in(folder); }

Choice choice_of(const std::string& path) {
  const std::filesystem::path last = std::filesystem::path(path + "/").parent_path();
  const auto step = step_of(last.filename().string());
  if (!step) return {path, std::nullopt};
  const std::string folder = last.parent_path().string();
  return {folder.empty() ? "." : folder, step};
}

std::vector<uint64_t> steps_in(const std::string& folder) {
  std::vector<uint64_t> steps;
  for (const std::string& name : names_in(folder))
    if (const std::optional<uint64_t> step = step_of(name)) steps.push_back(*step);
  std::sort(steps.begin(), steps.end(), std::greater<>());
  return steps;
}

std::vector<std::string> leftovers(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (const std::string& name : names_in(folder)) {
    const size_t body = name.size() - std::min(name.size(), std::string(kTemporary).size());
    const bool temporary = name.substr(body) == kTemporary && step_of(name.substr(0, body));
    const bool without_manifest =
        step_of(name) && !std::filesystem::exists(folder + "/" + name + "/" + kManifest, error);
    const bool probe = name.starts_with(kProbe) && name.ends_with(kTemporary);
    if (temporary || probe || without_manifest) found.push_back(name);
  }
  return found;
}

}  // namespace weir::checkpoint
