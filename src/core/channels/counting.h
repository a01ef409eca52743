// SPDX-License-Identifier: Apache-2.0
/// Ends of channels that count what goes along them, for the recorder.
///
/// Thread safety: as of the ends; the counters may be read by any thread.
#pragma once

#include <memory>

#include "src/core/diagnosis/recorder.h"
#include "transports/transport.h"

namespace weir::core {

/// The end itself where `counters` is null.
std::unique_ptr<Sender> counting(std::unique_ptr<Sender> inner, std::shared_ptr<ChannelCounters> counters);
std::unique_ptr<Receiver> counting(std::unique_ptr<Receiver> inner,
                                   std::shared_ptr<ChannelCounters> counters);

}  // namespace weir::core
