// SPDX-License-Identifier: Apache-2.0
/// NCCL env plugins: shared objects that give the values of environment variables.
///
/// Thread-safe, but for the destructor.
/// Tests: tests/drivers/env_plugin_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "src/base/status.h"
#include "src/drivers/library.h"

namespace weir::drivers {

struct EnvPluginSpec {
  std::string plugin;       ///< file or name, as in NCCL_ENV_PLUGIN; empty: libnccl-env.so, if it exists
  int64_t version = 0;      ///< version of NCCL that the plugin is told: 22809
  std::string suffix = {};  ///< what follows the numbers of the version
};

class EnvPlugin {
 public:
  /// Loads the plugin; null if there is none. Errors: a requested plugin cannot be loaded, or its init
  /// failed. Its code stays in the process permanently.
  static Result<std::unique_ptr<EnvPlugin>> load(const EnvPluginSpec& spec);
  ~EnvPlugin();
  EnvPlugin(const EnvPlugin&) = delete;

  /// The value of a variable; nullopt: the plugin has none.
  std::optional<std::string> value(const std::string& variable) const;

  std::string_view plugin_name() const { return name_; }
  int version() const { return version_; }

 private:
  EnvPlugin(Library library, std::string file, int version)
      : library_(std::move(library)), file_(std::move(file)), version_(version) {}
  template <typename Table>
  Status start(const Table& table, const EnvPluginSpec& spec);
  Status check(int result, const char* call) const;

  Library library_;
  std::string file_;
  int version_;
  std::string name_;
  int (*finalize_)() = nullptr;  ///< null until the plugin is initialized
  const char* (*value_)(const char* name) = nullptr;
};

}  // namespace weir::drivers
