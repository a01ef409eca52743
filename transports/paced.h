// SPDX-License-Identifier: Apache-2.0
/// paced: another transport whose senders keep to the pace that they are given (Sender::pace), by a token
/// bucket where the transport itself does not see to it.
#pragma once

#include <memory>

#include "transports/transport.h"

namespace weir {

/// Decorates `inner`. In any time t a paced channel is given at most rate * t and two slots of bytes.
std::unique_ptr<Transport> make_paced(std::unique_ptr<Transport> inner);

}  // namespace weir
