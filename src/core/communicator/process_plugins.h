// SPDX-License-Identifier: Apache-2.0
/// What plugins of NCCL do for a whole process: the env plugin, and the events of all profilers.
///
/// Thread-safe.
/// Tests: tests/library/env_plugin_test.cc, tests/library/profiler_test.cc
#pragma once

#include <cstdint>
#include <string>

#include "src/base/options.h"

namespace weir::core {

/// The options of this process: of the environment, or of the env plugin (NCCL_ENV_PLUGIN), which is loaded
/// with the first call, after the log was configured by the environment, and ended at the exit. `version`:
/// weir's, which the plugin is told. If the plugin cannot be used, the log says why.
Options read_options(const std::string& version);

/// From now on all profilers of the process get these kinds of events (ReportScope::profiler_mask).
void force_profiler_mask(int32_t kinds);

}  // namespace weir::core
