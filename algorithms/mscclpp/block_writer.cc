// SPDX-License-Identifier: Apache-2.0

#include "algorithms/mscclpp/block_writer.h"

#include <algorithm>

namespace weir::mscclpp {

void BlockWriter::data(Operation operation) {
  std::vector<Access> accesses;
  for (const bool writes : {false, true}) {
    for (const ChunkSpan& span : writes ? operation.destinations : operation.sources) {
      if (span.remote >= 0) continue;
      const auto [first, end] = place_(span);
      accesses.push_back({first, end, writes});
    }
  }
  if (has_waited_ ||
      std::any_of(accesses.begin(), accesses.end(), [&](const Access& access) { return conflicts(access); }))
    synchronize();
  since_nop_.insert(since_nop_.end(), accesses.begin(), accesses.end());
  block_.operations.push_back(std::move(operation));
}

void BlockWriter::signal(ChannelType type, std::span<const int> channels) {
  if (channels.empty()) return;
  if (has_waited_ || !since_nop_.empty()) synchronize();
  on_channels(OperationKind::signal, type, channels);
}

void BlockWriter::wait(ChannelType type, std::span<const int> channels) {
  if (channels.empty()) return;
  // Another thread may wait for the same channel, and they would count each other's signals.
  std::vector<int>& waited = waited_[index_of(type)];
  const bool again =
      std::ranges::any_of(channels, [&](int c) { return std::ranges::find(waited, c) != waited.end(); });
  if (again) synchronize();
  waited.insert(waited.end(), channels.begin(), channels.end());
  on_channels(OperationKind::wait, type, channels);
  has_waited();
}

void BlockWriter::flush(std::span<const int> channels) {
  if (channels.empty()) return;
  // The thread that flushes a channel need not be the one that has put something into it.
  if (!since_nop_.empty()) synchronize();
  for (size_t at = 0; at < channels.size(); at += kMostChannelsAtOnce) {
    const auto some = channels.subspan(at, std::min(kMostChannelsAtOnce, channels.size() - at));
    Operation operation{.kind = OperationKind::flush, .type = ChannelType::port};
    operation.channels.assign(some.begin(), some.end());
    // The executor takes the number of channels to flush from the destinations.
    operation.destinations.assign(some.size(), {'o', -1, 0, 0});
    block_.operations.push_back(std::move(operation));
  }
  has_waited();
}

void BlockWriter::acquire(std::span<const int> semaphores) {
  if (semaphores.empty()) return;
  on_semaphores(OperationKind::acquire, semaphores);
  has_waited();
}

void BlockWriter::release(std::span<const int> semaphores) {
  if (semaphores.empty()) return;
  if (has_waited_ || !since_nop_.empty()) synchronize();
  on_semaphores(OperationKind::release, semaphores);
}

void BlockWriter::on_channels(OperationKind kind, ChannelType type, std::span<const int> channels) {
  for (size_t at = 0; at < channels.size(); at += kMostChannelsAtOnce) {
    const auto some = channels.subspan(at, std::min(kMostChannelsAtOnce, channels.size() - at));
    Operation operation{.kind = kind, .type = type};
    operation.channels.assign(some.begin(), some.end());
    block_.operations.push_back(std::move(operation));
  }
}

void BlockWriter::on_semaphores(OperationKind kind, std::span<const int> semaphores) {
  for (size_t at = 0; at < semaphores.size(); at += kMostSemaphoresAtOnce) {
    const auto some = semaphores.subspan(at, std::min(kMostSemaphoresAtOnce, semaphores.size() - at));
    Operation operation{.kind = kind};
    operation.semaphores.assign(some.begin(), some.end());
    block_.operations.push_back(std::move(operation));
  }
}

void BlockWriter::synchronize() {
  block_.operations.emplace_back();
  since_nop_.clear();
  for (std::vector<int>& waited : waited_) waited.clear();
  has_waited_ = false;
}

bool BlockWriter::conflicts(const Access& access) const {
  return std::any_of(since_nop_.begin(), since_nop_.end(), [&](const Access& other) {
    return (access.writes || other.writes) && access.first < other.end && other.first < access.end;
  });
}

}  // namespace weir::mscclpp
