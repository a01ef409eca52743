// SPDX-License-Identifier: Apache-2.0

#include "src/cli/pair_meter.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "src/base/clock.h"

namespace weir::cli {
namespace {

using core::Operation;

constexpr int kMostExchanges = 2000;
constexpr size_t kFirstBlock = 16 << 10;
constexpr size_t kLargestBlock = 4 << 20;

/// First bytes of each block: what the sending end requests.
struct RequestedRuns {
  uint32_t stop;
  uint32_t larger;
};

double seconds_since(int64_t begin) { return static_cast<double>(now_ns() - begin) * 1e-9; }

Operation sent(Rank peer, const void* data, size_t bytes) {
  return core::SendOp{.input = data, .count = bytes, .type = DataType::uint8, .peer = peer};
}
Operation received(Rank peer, void* data, size_t bytes) {
  return core::RecvOp{.output = data, .count = bytes, .type = DataType::uint8, .peer = peer};
}

}  // namespace

Status PairMeter::send(Rank peer, const void* data, size_t bytes) {
  const Operation operation = sent(peer, data, bytes);
  return communicator_.run({&operation, 1});
}

Status PairMeter::receive(Rank peer, void* data, size_t bytes) {
  const Operation operation = received(peer, data, bytes);
  return communicator_.run({&operation, 1});
}

Status PairMeter::exchange(Rank peer, size_t bytes) {
  const Operation both[] = {sent(peer, out_.data(), bytes), received(peer, in_.data(), bytes)};
  return communicator_.run(both);
}

Result<double> PairMeter::latency_us(Rank peer, double seconds) {
  const bool leads = communicator_.rank() < peer;
  const int64_t begin = now_ns();
  double least = INFINITY;
  uint64_t last = 0;
  for (int i = 1; last == 0; ++i) {
    const int64_t sent = now_ns();
    if (leads) {
      last = i == kMostExchanges || seconds_since(begin) >= seconds ? 1 : 0;
      WEIR_TRY(send(peer, &last, sizeof last));
    }
    uint64_t answer = 0;
    WEIR_TRY(receive(peer, &answer, sizeof answer));
    if (!leads) {
      last = answer;
      WEIR_TRY(send(peer, &last, sizeof last));
    }
    least = std::min(least, seconds_since(sent) * 1e6 / 2);
  }
  return leads ? least : 0;
}

Result<double> PairMeter::gb_per_s(Rank peer, double seconds) {
  out_.resize(kLargestBlock);
  in_.resize(kLargestBlock);
  const int64_t begin = now_ns();
  int64_t counted_from = begin;
  size_t bytes = 0;
  size_t block = kFirstBlock;
  bool counts = false;
  RequestedRuns own{0, 0};
  for (bool stop = false; !stop;) {
    // The first quarter establishes connections and fills buffers; it does not count.
    if (!counts && seconds_since(begin) >= seconds / 4) {
      counts = true;
      counted_from = now_ns();
      bytes = 0;
    }
    own.stop = seconds_since(begin) >= seconds ? 1 : 0;
    std::memcpy(out_.data(), &own, sizeof own);
    const int64_t sent = now_ns();
    WEIR_TRY(exchange(peer, block));
    bytes += block;
    RequestedRuns theirs{};
    std::memcpy(&theirs, in_.data(), sizeof theirs);
    stop = own.stop != 0 || theirs.stop != 0;
    // Both ends know both requests here, so both choose the same size.
    if (own.larger != 0 && theirs.larger != 0) block = std::min(2 * block, kLargestBlock);
    own.larger = seconds_since(sent) < seconds / 32 ? 1 : 0;
  }
  return static_cast<double>(bytes) * 1e-9 / std::max(seconds_since(counted_from), 1e-9);
}

}  // namespace weir::cli
