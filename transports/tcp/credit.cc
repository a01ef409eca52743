// SPDX-License-Identifier: Apache-2.0

#include "transports/tcp/credit.h"

#include "src/base/clock.h"

namespace weir::tcp {

void SenderCredit::use(uint64_t bytes) {
  used_ += bytes;
  if (stalled_since_ != 0) go_on(now_ns());
}

void SenderCredit::stall(int64_t now) {
  if (stalled_since_ != 0) return;
  stalled_since_ = now;
  live_counters_.stalled();
}

void SenderCredit::go_on(int64_t now) {
  if (stalled_since_ != 0) live_counters_.waited(now - stalled_since_);
  stalled_since_ = 0;
}

uint64_t ReceiverCredit::limit(uint64_t room, int64_t now) {
  const uint64_t announced = std::min(std::max(announced_, heard_), arrived_ + room);
  return account_->limit(announced, arrived_, told_, now);
}

void ReceiverCredit::tell(uint64_t limit) {
  told_ = limit;
  live_counters_.granted();
}

void ReceiverCredit::settle() {
  if (std::max(announced_, heard_) == arrived_) settled_ = arrived_;
}

}  // namespace weir::tcp
