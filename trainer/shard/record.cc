#include "trainer/shard/record.h"

#include <chrono>

namespace weir::shard {

Result<PassRecord> PassRecord::make() {
  Result<Event> base = Event::make();
  if (!base.ok()) return base.status();
  return PassRecord(std::move(*base));
}

Status PassRecord::begin() {
  counts = PassCounts();
  begun_ns_ = now_ns();
  return base_.record_now();
}

Result<PassRecord::Mark> PassRecord::start(const Stream& stream) {
  Result<Event> begin = Event::make();
  if (!begin.ok()) return begin.status();
  Result<Event> end = Event::make();
  if (!end.ok()) return end.status();
  WEIR_TRY(begin->record(stream));
  return Mark{std::move(*begin), std::move(*end)};
}

Status PassRecord::wait(Mark& mark, const Stream& stream, Kind kind, int unit, const char* what) {
  WEIR_TRY(checked(weirEventSynchronize(mark.end.handle()), what));
  const int state = weirStreamQuery(stream.handle());
  if (state != ncclInProgress) WEIR_TRY(checked(state, what));
  float begin = 0, end = 0;
  WEIR_TRY(checked(weirEventElapsedTime(&begin, base_.handle(), mark.begin.handle()), what));
  WEIR_TRY(checked(weirEventElapsedTime(&end, base_.handle(), mark.end.handle()), what));
  counts.intervals.push_back(Interval{kind, unit, begin, end});
  return Status();
}

void PassRecord::waited(Kind kind, uint64_t since_ns) {
  (kind == Kind::gather ? counts.gather_wait_ms : counts.reduce_wait_ms) += (now_ns() - since_ns) / 1e6;
}

uint64_t PassRecord::now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace weir::shard
