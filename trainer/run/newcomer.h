// SPDX-License-Identifier: Apache-2.0
/// The side of a process that joins a running job, or is a spare of it: it waits at a listener
/// (newcomer_listener.h).
/// Tests: tests/trainer/newcomer_listener_test.cc, tests/trainer/elastic_test.py
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "trainer/run/peer_link.h"

namespace weir::trainer {

/// Addresses, "host:port", separated by commas.
std::vector<std::string> addresses_in(const std::string& text);

/// Asks at the listeners of a job, in turn, and at those that they name, until one has let this process in
/// and calls it (Call::join); nullopt: the run is done. `options`: lines of common_options.h. Waits without
/// limit while a listener keeps this process waiting; if it is gone, at another one. Errors:
/// invalid_argument, with what differs, if the job refuses the options; that of the last attempt if for a
/// minute none answers.
Result<std::optional<Call>> wait_to_join(std::vector<std::string> addresses, const std::string& options);

}  // namespace weir::trainer
