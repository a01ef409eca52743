// SPDX-License-Identifier: Apache-2.0

#include "src/core/communicator/board_memory.h"

#include <algorithm>
#include <set>
#include <utility>

#include "src/base/log.h"
#include "src/core/placement/job_topology.h"
#include "src/core/planning/host_board.h"

namespace weir::core {

int processes_beside(const std::vector<PeerAddress>& peers, Rank self) {
  std::set<std::pair<int32_t, uint16_t>> processes;
  for (const PeerAddress& peer : peers) {
    if (peer.host == peers[static_cast<size_t>(self)].host)
      processes.insert({peer.pid, peer.listener.port()});
  }
  return static_cast<int>(processes.size());
}

std::optional<device::SharedMemory> make_board_memory(const Bootstrap& bootstrap, int least_ranks) {
  const std::vector<PeerAddress>& peers = bootstrap.peers();
  if (bootstrap.size() < least_ranks || !is_lowest_on_host(peers, bootstrap.rank()) ||
      processes_beside(peers, bootstrap.rank()) == 1)
    return std::nullopt;
  auto memory = HostBoard::create(bootstrap.uid());
  if (memory.ok()) return std::move(*memory);
  WEIR_INFO(init, "the processes of this host share no tables and plans: {}", memory.status().message());
  return std::nullopt;
}

Bytes handle_bytes(const std::optional<device::SharedMemory>& memory) {
  return memory ? ByteWriter().put(memory->handle()).take() : Bytes();
}

}  // namespace weir::core
