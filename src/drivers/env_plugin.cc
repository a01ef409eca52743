// SPDX-License-Identifier: Apache-2.0

#include "src/drivers/env_plugin.h"

#include <fmt/format.h>

#include <cstddef>
#include <type_traits>

#include "src/base/log.h"
#include "src/drivers/plugin_file.h"

namespace weir::drivers {
namespace {

/// The tables of NCCL's env plugins, ncclEnvPlugin_v1 and _v2; a result of 0 is success.
template <typename InitType>
struct EnvTable {
  const char* name;
  InitType* init;
  int (*finalize)();
  const char* (*value)(const char* name);
};
using EnvTableV1 = EnvTable<int(uint8_t major, uint8_t minor, uint8_t patch, const char* suffix)>;
using EnvTableV2 =
    EnvTable<int(uint8_t major, uint8_t minor, uint8_t patch, const char* suffix, PluginLogger* logger)>;
static_assert(sizeof(EnvTableV1) == 32 && offsetof(EnvTableV2, value) == 24);

}  // namespace

Result<std::unique_ptr<EnvPlugin>> EnvPlugin::load(const EnvPluginSpec& spec) {
  auto found = find_plugin({.kind = "env",
                            .variable = "NCCL_ENV_PLUGIN",
                            .symbol = "ncclEnvPlugin_v",
                            .newest = 2,
                            .oldest = 1,
                            .name = spec.plugin,
                            .net_plugins = "none",
                            .quiet = true});  // the version is the first line
  WEIR_TRY(found.status());
  if (!*found) return std::unique_ptr<EnvPlugin>();
  FoundPlugin& own = **found;
  std::unique_ptr<EnvPlugin> plugin(new EnvPlugin(std::move(own.opened), own.file, own.version));
  WEIR_TRY(own.version == 1 ? plugin->start(*static_cast<const EnvTableV1*>(own.table), spec)
                            : plugin->start(*static_cast<const EnvTableV2*>(own.table), spec));
  WEIR_INFO(env, "ENV/Plugin: Using {} (v{}) of {}", plugin->name_, plugin->version_, plugin->file_);
  return plugin;
}

template <typename Table>
Status EnvPlugin::start(const Table& table, const EnvPluginSpec& spec) {
  if (table.name == nullptr || table.init == nullptr || table.finalize == nullptr || table.value == nullptr)
    return {Code::system_error,
            fmt::format("env plugin {}: the table ncclEnvPlugin_v{} lacks a name or a function", file_,
                        version_)};
  name_ = table.name;
  const auto major = static_cast<uint8_t>(spec.version / 10000);
  const auto minor = static_cast<uint8_t>(spec.version / 100 % 100);
  const auto patch = static_cast<uint8_t>(spec.version % 100);
  if constexpr (std::is_same_v<Table, EnvTableV1>) {
    WEIR_TRY(check(table.init(major, minor, patch, spec.suffix.c_str()), "init"));
  } else {
    WEIR_TRY(check(table.init(major, minor, patch, spec.suffix.c_str(), log_of_plugin), "init"));
  }
  finalize_ = table.finalize;
  value_ = table.value;
  return {};
}

EnvPlugin::~EnvPlugin() {
  if (finalize_ == nullptr) return;
  if (const Status ended = check(finalize_(), "finalize"); !ended.ok()) WEIR_INFO(env, "{}", ended.message());
}

std::optional<std::string> EnvPlugin::value(const std::string& variable) const {
  const char* const text = value_(variable.c_str());
  return text != nullptr ? std::optional<std::string>(text) : std::nullopt;
}

Status EnvPlugin::check(int result, const char* call) const {
  if (result == 0) return {};
  return plugin_result(result, fmt::format("env plugin {} ({}, version {})", name_, file_, version_), call);
}

}  // namespace weir::drivers
