// SPDX-License-Identifier: Apache-2.0

#include "src/drivers/plugin_file.h"

#include <fmt/format.h>

#include <cstdarg>
#include <cstdio>
#include <mutex>

#include "src/base/log.h"
#include "src/base/text.h"

namespace weir::drivers {
namespace {

std::optional<FoundPlugin> newest_in(Library& library, const std::string& file, const PluginSearch& search) {
  for (int version = search.newest; version >= search.oldest; --version) {
    const std::string symbol = fmt::format("{}{}", search.symbol, version);
    if (const void* const table = library.find_data(symbol.c_str()); table != nullptr)
      return FoundPlugin{std::move(library), file, version, table};
  }
  return std::nullopt;
}

/// Searches the loaded net plugins: one file may contain plugins of several kinds.
std::optional<FoundPlugin> find_in_net_plugins(const PluginSearch& search) {
  const std::string fallback = default_plugin("net");
  std::vector<std::string_view> names = split_list(search.net_plugins);
  if (names.empty()) names.push_back(fallback);
  for (const std::string_view name : names) {
    for (const std::string& file : plugin_files("net", name)) {
      Result<Library> library = Library::open_loaded(file.c_str());
      if (!library.ok()) continue;
      if (auto found = newest_in(*library, file, search)) return found;
    }
  }
  return std::nullopt;
}

}  // namespace

/// The flags are the bits of NCCL's subsystems, which equal those of Subsystem.
void log_of_plugin(int level, unsigned long flags, const char* place, int line, const char* format, ...) {
  constexpr int kWarn = 2, kInfo = 3, kTrace = 5;
  const auto on = [&](const std::atomic<uint32_t>& mask) {
    return (mask.load(std::memory_order_relaxed) & flags) != 0;
  };
  const bool wanted = level == kWarn || (level == kInfo && on(log_detail::info_mask)) ||
                      (level == kTrace && on(log_detail::trace_mask));
  if (!wanted || format == nullptr) return;
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  if (length < 0) return;
  const char* const from = place != nullptr ? place : "plugin";
  if (level == kWarn) log_detail::warn(from, line, text);
  if (level == kInfo) log_detail::info(text);
  if (level == kTrace) log_detail::trace(from, line, text);
}

std::string default_plugin(std::string_view kind) { return fmt::format("libnccl-{}.so", kind); }

std::vector<std::string> plugin_files(std::string_view kind, std::string_view name) {
  std::vector<std::string> files{std::string(name)};
  const bool is_file =
      name.find('/') != std::string_view::npos || (name.starts_with("lib") && name.ends_with(".so"));
  if (name == default_plugin(kind)) files.push_back(fmt::format("librccl-{}.so", kind));
  if (is_file || equals_ignoring_case(name, "STATIC_PLUGIN")) return files;
  for (const char* const vendor : {"nccl", "rccl"})
    files.push_back(fmt::format("lib{}-{}-{}.so", vendor, kind, name));
  return files;
}

/// Serialized: a thread that finds a plugin already loaded must see the results of its static initializers.
Result<Library> open_plugin(const std::string& file) {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  return equals_ignoring_case(file, "STATIC_PLUGIN") ? Library::open_program()
                                                     : Library::open_for_good(file.c_str());
}

bool is_missing(const Status& status, const std::string& file) {
  return status.message().starts_with(file) && status.message().find("No such file") != std::string::npos;
}

Result<std::optional<FoundPlugin>> find_plugin(const PluginSearch& search) {
  if (equals_ignoring_case(search.name, "none")) return std::optional<FoundPlugin>();
  const bool asked = !search.name.empty();
  std::string missing, trouble;
  for (const std::string& file :
       plugin_files(search.kind, asked ? std::string_view(search.name) : default_plugin(search.kind))) {
    Result<Library> library = open_plugin(file);
    if (!library.ok() && is_missing(library.status(), file)) {
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", file);
      continue;
    }
    if (library.ok()) {
      if (auto found = newest_in(*library, file, search)) return found;
      trouble =
          fmt::format("{} exports none of {}{} to _v{}", file, search.symbol, search.oldest, search.newest);
    } else {
      trouble = fmt::format("{} cannot be loaded: {}", file, library.status().message());
    }
    break;
  }
  if (trouble.empty()) {
    if (auto found = find_in_net_plugins(search)) return found;
    trouble = fmt::format("could not find {}", missing);
  }
  if (asked)
    return Status(Code::system_error, fmt::format("{}={}: {}", search.variable, search.name, trouble));
  if (!search.quiet) WEIR_INFO(init, "no {} plugin: {}", search.kind, trouble);
  return std::optional<FoundPlugin>();
}

std::string_view result_words(int result) {
  constexpr std::string_view kWords[] = {"success",        "device error",     "system or network error",
                                         "internal error", "invalid argument", "invalid usage",
                                         "remote error",   "in progress"};
  return result >= 0 && result < 8 ? kWords[result] : "unknown result";
}

Status plugin_result(int result, std::string_view who, std::string_view call) {
  if (result == 0) return {};
  const bool known = result > 0 && result <= static_cast<int>(Code::remote_error);
  return {known ? static_cast<Code>(result) : Code::internal_error,
          fmt::format("{}: {} failed with result {} ({})", who, call, result, result_words(result))};
}

}  // namespace weir::drivers
