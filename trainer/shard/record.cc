// SPDX-License-Identifier: Apache-2.0

#include "trainer/shard/record.h"

#include <chrono>

namespace weir::shard {

Result<PassRecord> PassRecord::make(GpuOps* gpu) {
  Result<Event> base = Event::make(gpu);
  if (!base.ok()) return base.status();
  Result<Event> host_base = Event::make();
  if (!host_base.ok()) return host_base.status();
  return PassRecord(std::move(*base), std::move(*host_base));
}

Status PassRecord::begin() {
  counts = PassCounts();
  begun_ns_ = now_ns();
  WEIR_TRY(host_base_.record_now());
  return base_.record_now();
}

Result<PassRecord::Mark> PassRecord::start(const Stream& stream) {
  Result<Event> begin = Event::make(stream.gpu());
  if (!begin.ok()) return begin.status();
  Result<Event> end = Event::make(stream.gpu());
  if (!end.ok()) return end.status();
  WEIR_TRY(begin->record(stream));
  return Mark{std::move(*begin), std::move(*end)};
}

Status PassRecord::wait(Mark& mark, const Stream& stream, Kind kind, int unit, const char* what) {
  WEIR_TRY(mark.end.synchronize(what));
  WEIR_TRY(stream.status(what));
  const Result<float> begin = Event::elapsed(base_of(stream), mark.begin, what);
  WEIR_TRY(begin.status());
  const Result<float> end = Event::elapsed(base_of(stream), mark.end, what);
  WEIR_TRY(end.status());
  counts.intervals.push_back(Interval{kind, unit, *begin, *end});
  return Status();
}

void PassRecord::add(Kind kind, uint64_t since_ns) {
  const auto ms = [this](uint64_t ns) { return static_cast<double>(ns - begun_ns_) / 1e6; };
  counts.intervals.push_back(Interval{kind, -1, ms(since_ns), ms(now_ns())});
}

void PassRecord::waited(Kind kind, uint64_t since_ns) {
  double& sum = kind == Kind::gather   ? counts.gather_wait_ms
                : kind == Kind::reduce ? counts.reduce_wait_ms
                                       : counts.part_wait_ms;
  sum += (now_ns() - since_ns) / 1e6;
}

uint64_t PassRecord::now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace weir::shard
