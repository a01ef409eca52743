// SPDX-License-Identifier: Apache-2.0

#include "src/core/communicator/process_plugins.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "src/base/exception.h"
#include "src/base/log.h"
#include "src/drivers/env_plugin.h"
#include "src/drivers/profiler.h"

namespace weir::core {
namespace {

/// Null: the environment is read directly. Children that the process forks use it, too.
constinit std::atomic<drivers::EnvPlugin*> env_plugin{nullptr};

void load_env_plugin(const std::string& version) {
  const char* const name = std::getenv("NCCL_ENV_PLUGIN");
  const Options before = Options::from_environment();
  configure_log(before.log);
  auto plugin =
      drivers::EnvPlugin::load({name != nullptr ? name : "", before.nccl_version, "+weir" + version});
  if (!plugin.ok()) WEIR_WARN("{}; the environment is read directly", plugin.status().message());
  if (!plugin.ok() || *plugin == nullptr) return;
  env_plugin.store(plugin->release());
  std::atexit([] { delete env_plugin.exchange(nullptr); });
}

}  // namespace

Options read_options(const std::string& version) {
  static std::once_flag loaded;
  std::call_once(loaded, [&] {
    (void)guarded([&] {
      load_env_plugin(version);
      return Status();
    });
  });
  const drivers::EnvPlugin* const plugin = env_plugin.load();
  if (plugin == nullptr) return Options::from_environment();
  const EnvironmentPlugin asked{fmt::format("env plugin {}", plugin->plugin_name()),
                                [plugin](const std::string& name) { return plugin->value(name); }};
  return Options::from_environment(&asked);
}

void force_profiler_mask(int32_t kinds) { drivers::force_profiler_mask(kinds); }

}  // namespace weir::core
