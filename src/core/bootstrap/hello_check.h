// SPDX-License-Identifier: Apache-2.0
/// Whether the ranks that meet at a root fit together.
/// Tests: tests/core/bootstrap_test.cc, tests/core/bootstrap_encrypted_test.cc
#pragma once

#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/core/bootstrap/root_wire.h"

namespace weir::core {

/// Compares a new hello with those that have come before (by rank, null while missing; empty before the
/// first) and with the encryption of the root. Errors name the rank, and the other one: invalid_usage, or
/// invalid_argument for a rank that cannot be.
Status check_hello(const root_wire::Hello& hello, const std::vector<const root_wire::Hello*>& known,
                   TlsSettings::Mode encryption);

/// The ranks without a hello: "1, 3-5, 7"; at most eight runs, then "more".
std::string list_missing(const std::vector<const root_wire::Hello*>& known);

}  // namespace weir::core
