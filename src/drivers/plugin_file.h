// SPDX-License-Identifier: Apache-2.0
/// How NCCL plugins (shared objects that users provide) are found, and what all kinds of plugins share. For
/// the plugin hosts in this folder.
///
/// Thread-safe.
/// Tests: tests/transports/net_plugin_test.cc, tests/drivers/tuner_test.cc
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/drivers/library.h"

namespace weir::drivers {

/// The function that plugins call to write to the log, from any thread; `level` and `flags` are NCCL's.
using PluginLogger = void(int level, unsigned long flags, const char* place, int line, const char* format,
                          ...);
/// Writes a plugin's line to the log as if it were one of weir.
[[gnu::format(printf, 5, 6)]] void log_of_plugin(int level, unsigned long flags, const char* place, int line,
                                                 const char* format, ...);

/// The default file of a kind of plugin: "libnccl-tuner.so" for the kind "tuner".
std::string default_plugin(std::string_view kind);
/// The files that a plugin's name may refer to, in the order in which they are tried.
std::vector<std::string> plugin_files(std::string_view kind, std::string_view name);
/// Loads a plugin permanently; STATIC_PLUGIN, ignoring case, is the program itself. is_missing() recognizes
/// the error of a file that does not exist.
Result<Library> open_plugin(const std::string& file);
/// Returns whether the file itself does not exist, in contrast to a library that it needs.
bool is_missing(const Status& status, const std::string& file);

/// What to search for: a table of functions whose symbol ends in the version number.
struct PluginSearch {
  std::string_view kind;      ///< kind of plugin: "tuner"
  std::string_view variable;  ///< environment variable that names the plugin: "NCCL_TUNER_PLUGIN"
  std::string_view symbol;    ///< symbol without the version number: "ncclTunerPlugin_v"
  int newest = 0;
  int oldest = 0;
  std::string name;         ///< value of the variable; empty: the default file, if it exists
  std::string net_plugins;  ///< value of NCCL_NET_PLUGIN: loaded net plugins are searched if there is no file
  bool quiet = false;       ///< the log does not say that there is none
};
struct FoundPlugin {
  Library opened;
  std::string file;
  int version = 0;
  const void* table = nullptr;
};
/// The plugin; nullopt if there is none or the name is "none"; the log says why. An error if a plugin is
/// requested by name and cannot be loaded.
Result<std::optional<FoundPlugin>> find_plugin(const PluginSearch& search);

/// The meaning of an ncclResult_t in the words of nccl.h: "internal error".
std::string_view result_words(int result);
/// Success, or an error with the code that the plugin returned: "`who`: `call` failed with result 3 (internal
/// error)".
Status plugin_result(int result, std::string_view who, std::string_view call);

}  // namespace weir::drivers
