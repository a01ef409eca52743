// SPDX-License-Identifier: Apache-2.0
/// paced: decorates a transport so that its senders keep to their pace (Sender::pace), with a token bucket if
/// the transport itself does not limit the rate.
/// Tests: tests/transports/pace_test.cc
#pragma once

#include <memory>

#include "transports/transport.h"

namespace weir {

/// Decorates `inner`. In any time t, a paced channel sends at most rate * t bytes plus two slots.
std::unique_ptr<Transport> make_paced(std::unique_ptr<Transport> inner);

}  // namespace weir
