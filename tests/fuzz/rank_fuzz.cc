// SPDX-License-Identifier: Apache-2.0
// What each rank tells all others when a communicator is made: facts, settings, its part of the topology, and
// the choices of rank 0.
#include "src/core/placement/job_topology.h"
#include "src/core/planning/peer_info.h"
#include "src/core/planning/tuning_result.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir;
  using namespace weir::core;
  const BytesView bytes = bytes_of(data, size);
  ByteReader reader(bytes);
  (void)PeerInfo::get(reader);
  ByteReader settings_reader(bytes);
  const SharedSettings settings = SharedSettings::get(settings_reader);
  (void)settings.filter();
  (void)settings.exchanged();
  (void)TuningResult::decode(bytes);
  const std::vector<PeerAddress> peers(2, PeerAddress{.listener = SocketAddress::loopback(AF_INET, 80),
                                                      .host = 1,
                                                      .pid = 1,
                                                      .hostname = "alpha",
                                                      .other_listeners = {}});
  const Bytes first(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size / 2));
  const Bytes whole(bytes.begin(), bytes.end());
  (void)JobTopology::assemble({whole, {}}, peers);
  (void)JobTopology::assemble({first, whole}, peers);
  return 0;
}
