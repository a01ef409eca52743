#include "transports/tcp_credit.h"

#include <algorithm>

namespace weir::tcp {

Status CreditTaker::refresh() {
  while (published_ > limit_) {
    const auto frame = line_.receive();
    WEIR_TRY(frame.status());
    if (!*frame) break;
    if ((*frame)->kind == ControlKind::credit) limit_ = (*frame)->value;
  }
  return {};
}

Status CreditTaker::announce() {
  if (published_ <= limit_ || announced_ == published_) return {};
  const Result<bool> sent = line_.send(ControlKind::announced, published_);
  WEIR_TRY(sent.status());
  if (*sent) announced_ = published_;
  return {};
}

void CreditTaker::stall(int64_t now) {
  if (stalled_since_ != 0) return;
  stalled_since_ = now;
  tally_.stalled();
}

void CreditTaker::go_on(int64_t now) {
  if (stalled_since_ != 0) tally_.waited(now - stalled_since_);
  stalled_since_ = 0;
}

void CreditGiver::hear(ControlLine& line) {
  for (;;) {
    const auto frame = line.receive();
    if (!frame.ok()) return listener_.drop();
    if (!*frame) return;
    if ((*frame)->kind == ControlKind::announced) heard_ = std::max(heard_, (*frame)->value);
  }
}

void CreditGiver::serve(uint64_t room) {
  if (settled_ == arrived_ && announced_ == arrived_) return;
  ControlLine* line = listener_.line();
  if (line == nullptr) return;
  if (account_ == nullptr) account_ = budget_.open(source_);
  if (announced_ > arrived_) hear(*line);
  line = listener_.line();
  if (line == nullptr) return;
  const uint64_t announced = std::min(std::max(announced_, heard_), room);
  const uint64_t limit = account_->limit(announced, arrived_, told_, now_ns());
  if (limit != told_) {
    const Result<bool> sent = line->send(ControlKind::credit, limit);
    if (!sent.ok()) return listener_.drop();
    if (!*sent) return;
    told_ = limit;
    tally_.granted();
  }
  if (std::max(announced_, heard_) == arrived_) settled_ = arrived_;
}

}  // namespace weir::tcp
