// SPDX-License-Identifier: Apache-2.0
/// Shared objects that users bring to NCCL as plugins: how they are found, and what all kinds of them share.
/// For the hosts of plugins in this folder.
///
/// Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/drivers/library.h"
#include "weir/status.h"

namespace weir::drivers {

/// What plugins call to write into the log, from any thread: `level` and `flags` are NCCL's.
using PluginLogger = void(int level, unsigned long flags, const char* place, int line, const char* format,
                          ...);
/// The line goes into the log as if it were ours.
[[gnu::format(printf, 5, 6)]] void log_of_plugin(int level, unsigned long flags, const char* place, int line,
                                                 const char* format, ...);

/// "libnccl-tuner.so" for the kind "tuner": what is looked for where no name is given.
std::string default_plugin(std::string_view kind);
/// The files that a name may mean, in the order in which they are tried.
std::vector<std::string> plugin_files(std::string_view kind, std::string_view name);
/// Loads it for good; STATIC_PLUGIN, in any case, is the program itself. The error of a file that is not
/// there passes is_missing().
Result<Library> open_plugin(const std::string& file);
/// The file itself is not there, not one that it needs.
bool is_missing(const Status& status, const std::string& file);

/// A table of functions that a plugin exports by the number of its version.
struct PluginSearch {
  std::string_view kind;      ///< "tuner"
  std::string_view variable;  ///< "NCCL_TUNER_PLUGIN"
  std::string_view symbol;    ///< "ncclTunerPlugin_v", without the number
  int newest = 0;
  int oldest = 0;
  std::string name;         ///< as the variable says; empty: the default file, if there is one
  std::string net_plugins;  ///< likewise of NCCL_NET_PLUGIN: where there is no file, what of these is loaded
};
struct FoundPlugin {
  Library opened;
  std::string file;
  int version = 0;
  const void* table = nullptr;
};
/// Nothing where there is no plugin, or "none" is asked for; the log says why. An error where one is asked
/// for by name and cannot be had.
Result<std::optional<FoundPlugin>> find_plugin(const PluginSearch& search);

/// In the words of nccl.h: "internal error".
std::string_view result_words(int result);
/// Success, or an error with the code that the plugin gave: "`who`: `call` failed with result 3 (internal
/// error)".
Status plugin_result(int result, std::string_view who, std::string_view call);

}  // namespace weir::drivers
