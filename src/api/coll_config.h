// SPDX-License-Identifier: Apache-2.0
/// Reads a caller's ncclCollConfig_t, of any version.
/// Tests: tests/api/coll_config_test.cc
#pragma once

#include "src/api/abi.h"
#include "src/base/status.h"

namespace weir::api {

/// The config in this version's layout: the caller's fields, and initial values for fields that are missing
/// in the caller's struct. Checks every value; invalid_argument names `function` and the field. REQUIRES:
/// config
/// != nullptr.
Result<ncclCollConfig_t> read_coll_config(const char* function, const ncclCollConfig_t* config);

}  // namespace weir::api
