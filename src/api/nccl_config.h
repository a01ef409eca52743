// SPDX-License-Identifier: Apache-2.0
/// Converts a caller's ncclConfig_t, of any version, into a communicator's configuration.
/// Tests: tests/api/config_test.cc
#pragma once

#include "src/api/abi.h"
#include "src/base/status.h"
#include "src/core/communicator/communicator.h"

namespace weir::api {

/// The order in a weirConfig_t; weirOrderUnset for a config of NCCL. Not checked. REQUIRES: config !=
/// nullptr.
int order_in(const ncclConfig_t* config);

/// The config in this version's layout: the caller's fields, and initial values for fields that are missing
/// in the caller's struct or newer than the caller's header. Checks every value; invalid_argument names the
/// field. Does not look at what a weirConfig_t has in addition. REQUIRES: config != nullptr.
Result<ncclConfig_t> read_config(const ncclConfig_t* config);

/// The configuration for a new communicator. Without `config`, that of `parent`, or else the defaults. The
/// environment overrides it.
Result<core::Config> communicator_config(const ncclConfig_t* config, const core::Config* parent);

}  // namespace weir::api
