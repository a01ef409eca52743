// SPDX-License-Identifier: Apache-2.0

#include "transports/tcp/failback.h"

#include <algorithm>

namespace weir::tcp {

Failback::~Failback() {
  for (Path& path : paths_) drop(path);
}

void Failback::drop(Path& path) {
  for (const OutStream& stream : path.streams) shared_.counters.connections.forget(stream.socket.socket());
  path.streams.clear();
}

void Failback::lost(size_t path, int64_t now) {
  Path& at = paths_[path];
  const bool soon = at.regained_ns != 0 && now - at.regained_ns < kTrialNs;
  at.pause_ns = soon ? std::min(2 * at.pause_ns, kLongestPauseNs) : times_.first_pause_ns;
  at.next_ns = now + at.pause_ns;
  at.lost = true;
  at.lost_ns = now;
  ++lost_;
}

std::optional<Failback::Regained> Failback::advance(int64_t now, bool begins) {
  for (size_t path = 0; path < paths_.size(); ++path) {
    Path& at = paths_[path];
    if (!at.lost) continue;
    if (at.streams.empty()) {
      if (begins && now >= at.next_ns) begin(path, now);
      continue;
    }
    const Result<bool> works = this->works(path);
    if (works.ok() && *works) {
      at.lost = false;
      at.regained_ns = now;
      --lost_;
      return Regained{path, std::exchange(at.streams, {}), static_cast<double>(now - at.lost_ns) / 1e9};
    }
    if (!works.ok() || now >= at.next_ns) fail(path, now);
  }
  return std::nullopt;
}

void Failback::begin(size_t path, int64_t now) {
  Path& at = paths_[path];
  ++at.attempt;
  at.next_ns = now + times_.timeout_ns;
  controls_.reopen(path, at.attempt, connector_.control(static_cast<uint32_t>(path), at.attempt));
  for (uint32_t i = static_cast<uint32_t>(path); i < connector_.streams();
       i += static_cast<uint32_t>(connector_.paths()))
    at.streams.push_back(connector_.stream(i, at.attempt));
}

Result<bool> Failback::works(size_t path) {
  controls_.serve();  // the receiver has to be told the number of the attempt, and answers there
  bool ready = controls_.ready(path) && controls_.heard(path);
  if (!controls_.ended(path).empty()) return Status(Code::remote_error, controls_.ended(path));
  for (OutStream& stream : paths_[path].streams) {
    if (!stream.ready) WEIR_TRY(stream.greet(shared_, peer_));
    ready = ready && stream.ready;
  }
  return ready;
}

void Failback::fail(size_t path, int64_t now) {
  Path& at = paths_[path];
  for (const OutStream& stream : at.streams) controls_.tell_gone({stream.index, at.attempt});
  drop(at);
  controls_.leave(path);
  at.pause_ns = std::min(2 * at.pause_ns, kLongestPauseNs);
  at.next_ns = now + at.pause_ns;
}

}  // namespace weir::tcp
