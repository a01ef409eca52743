// SPDX-License-Identifier: Apache-2.0

#include "src/core/call/operation_queue.h"

#include "src/base/log.h"
#include "src/base/text.h"

namespace weir::core {

OperationQueue::Ticket OperationQueue::queue(std::span<const Operation> operations, int ranks, bool counts) {
  Ticket ticket;
  if (admission_.limits_any() && blocking_) {
    ticket.load = load_of(operations, ranks);
    admission_.enter(ticket.load);
  }
  used_ = true;
  ticket.background = counts && !blocking_;
  if (ticket.background) in_background_.fetch_add(1);
  ticket.number = order_.draw();
  return ticket;
}

void OperationQueue::leave(const Ticket& ticket) {
  if (ticket.background) in_background_.fetch_sub(1);
  if (ticket.load.operations > 0) admission_.leave(ticket.load);
  order_.leave();  // the last touch: whoever waits for it may destroy the queue
}

Result<device::HostStream*> OperationQueue::background() {
  if (background_ == nullptr) {
    auto stream = device::HostStream::create();
    WEIR_TRY(stream.status());
    background_ = std::move(*stream);
  }
  return background_.get();
}

void OperationQueue::log_counters() const {
  if (!admission_.limits_any()) return;
  const Admission::Counters queued = admission_.counters();
  WEIR_INFO(coll, "Admission: at most {} with {} were queued; {} waited",
            plural(static_cast<int64_t>(queued.most_operations), "operation"),
            bytes_words(static_cast<double>(queued.most_bytes)),
            plural(static_cast<int64_t>(queued.waits), "call"));
}

}  // namespace weir::core
