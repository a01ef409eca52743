// SPDX-License-Identifier: Apache-2.0
/// Channel ends that count messages and bytes for the recorder.
///
/// Thread safety: that of the wrapped ends; any thread may read the counters.
/// Tests: tests/core/links_test.cc
#pragma once

#include <memory>

#include "src/core/diagnosis/recorder.h"
#include "transports/transport.h"

namespace weir::core {

/// Wraps an end so that it counts; returns `inner` itself if `counters` is null.
std::unique_ptr<Sender> counting(std::unique_ptr<Sender> inner, std::shared_ptr<ChannelCounters> counters);
std::unique_ptr<Receiver> counting(std::unique_ptr<Receiver> inner,
                                   std::shared_ptr<ChannelCounters> counters);

}  // namespace weir::core
