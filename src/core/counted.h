/// Ends of channels that count what goes along them, for the recorder.
///
/// Thread safety: as of the ends; the tally may be read by any thread.
#pragma once

#include <memory>

#include "src/core/recorder.h"
#include "transports/transport.h"

namespace weir::core {

/// The end itself where `tally` is null.
std::unique_ptr<Sender> counted(std::unique_ptr<Sender> inner, std::shared_ptr<ChannelTally> tally);
std::unique_ptr<Receiver> counted(std::unique_ptr<Receiver> inner, std::shared_ptr<ChannelTally> tally);

}  // namespace weir::core
