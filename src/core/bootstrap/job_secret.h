// SPDX-License-Identifier: Apache-2.0
/// The secret of a job whose ranks meet at NCCL_COMM_ID: an address alone proves nothing, so the ranks have
/// to be given the same secret in another way.
/// Tests: tests/core/job_secret_test.cc
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/net/secret.h"

namespace weir::core {

/// The secret in the file, or else that of the text; the public secret if both are empty. The file may be
/// readable by its owner only. Errors: invalid_usage for a file that others may read, or that is empty;
/// system_error for one that cannot be read.
Result<Secret> job_secret(const std::string& file, const std::string& text);

/// The value of WEIR_SECRET. It is no option, since options are shown.
std::string secret_of_environment();

/// Warns once per process that a job has no secret, and says what that means.
void warn_of_public_secret();

}  // namespace weir::core
