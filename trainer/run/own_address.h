// SPDX-License-Identifier: Apache-2.0
/// The address of this host on the network of a job.
/// Tests: tests/trainer/newcomer_listener_test.cc
#pragma once

#include <string>

#include "src/base/status.h"

namespace weir::trainer {

/// "host:port" with the address from which this host reaches that of `other`, also "host:port", and its port.
/// The other need not answer, and nothing is sent. invalid_argument if `other` is no address or has no route.
Result<std::string> own_address(const std::string& other);

}  // namespace weir::trainer
