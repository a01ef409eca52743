// SPDX-License-Identifier: Apache-2.0
/// From a caller's ncclConfig_t, of whatever version, to a communicator's configuration.
#pragma once

#include "src/api/abi.h"
#include "src/core/communicator/communicator.h"
#include "weir/status.h"

namespace weir::api {

/// A struct of our own version: the caller's bytes as far as they reach, initial values for what is longer
/// here or newer than the caller's header, every value checked. invalid_argument names the field. REQUIRES:
/// config != nullptr.
Result<ncclConfig_t> read_config(const ncclConfig_t* config);

/// What a communicator is made with. No config: that of `parent`, or the defaults without one. The
/// environment has the last word.
Result<core::Config> communicator_config(const ncclConfig_t* config, const core::Config* parent);

}  // namespace weir::api
