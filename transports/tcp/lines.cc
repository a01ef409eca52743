#include "transports/tcp/lines.h"

#include <algorithm>

#include "src/base/clock.h"

namespace weir::tcp {

SenderLines::SenderLines(std::vector<Result<ControlLine>> lines, int64_t timeout_ns, NetTally* tally)
    : lines_(lines.size()), timeout_ns_(timeout_ns) {
  for (size_t i = 0; i < lines.size(); ++i) {
    if (tally != nullptr) lines_[i].credit.emplace(*tally);
    if (lines[i].ok()) {
      lines_[i].line = std::make_unique<ControlLine>(std::move(*lines[i]));
    } else {
      lines_[i].ended = lines[i].status().message();
    }
  }
}

/// Waits that are not over count as well.
SenderLines::~SenderLines() {
  for (Line& line : lines_) {
    if (line.credit) line.credit->go_on(now_ns());
  }
}

void SenderLines::end(Line& line, const Status& why) {
  line.ended = why.message();
  line.open = false;
  line.line.reset();
}

bool SenderLines::ready(size_t path) {
  Line& line = lines_[path];
  if (line.open || line.line == nullptr) return line.open;
  const Result<bool> ready = line.line->ready();
  if (!ready.ok()) {
    end(line, ready.status());
    return false;
  }
  return line.open = *ready;
}

void SenderLines::leave(size_t path) {
  lines_[path].line.reset();
  lines_[path].open = false;
}

void SenderLines::refresh(size_t path) {
  Line& line = lines_[path];
  if (line.open && line.credit && line.credit->lacks()) hear(line);
}

void SenderLines::announce(size_t path) {
  Line& line = lines_[path];
  const uint64_t bytes = line.open && line.credit ? line.credit->to_announce() : 0;
  if (bytes == 0) return;
  const Result<bool> sent = line.line->send(ControlKind::announced, bytes);
  if (!sent.ok()) return end(line, sent.status());
  if (*sent) line.credit->announced(bytes);
}

void SenderLines::serve() {
  for (Line& line : lines_) {
    if (!line.open) continue;
    hear(line);
    if (!line.open || line.told_gone == gone_) continue;
    const Result<bool> sent = line.line->send(ControlKind::gone, gone_);
    if (sent.ok() && *sent) line.told_gone = gone_;
  }
}

void SenderLines::hear(Line& line) {
  for (;;) {
    const auto frame = line.line->receive();
    if (!frame.ok()) return end(line, frame.status());
    if (!frame->has_value()) return;
    const auto& [magic, kind, value] = **frame;
    // Another path may have brought later news before.
    if (kind == ControlKind::arrived && value > arrived_.code()) arrived_ = Arrived::of(value);
    if (kind == ControlKind::credit && line.credit) line.credit->hear(value);
  }
}

std::vector<size_t> SenderLines::silent(int64_t now) {
  if (!asked_) {
    if (now - asked_ns_ >= timeout_ns_ / 4) ask(now);
    return {};
  }
  std::vector<size_t> quiet;
  bool answered = false;
  for (size_t i = 0; i < lines_.size(); ++i) {
    Line& line = lines_[i];
    if (!line.open) continue;
    line.answered = line.answered || line.line->confirmed();
    if (!line.answered) quiet.push_back(i);
    answered = answered || line.answered;
  }
  if (quiet.empty()) asked_ = false;
  if (!answered || now - asked_ns_ < timeout_ns_) return {};
  asked_ = false;
  return quiet;
}

void SenderLines::ask(int64_t now) {
  for (Line& line : lines_) {
    if (line.open) [[maybe_unused]]
      const Result<bool> sent = line.line->send(ControlKind::ping, 0);
    line.answered = false;
  }
  asked_ = true;
  asked_ns_ = now;
}

ReceiverLines::ReceiverLines(Listener& listener, const std::vector<DeliveryKey>& keys) {
  for (const DeliveryKey& key : keys) lines_.push_back({ControlListener(listener, key), 0, nullptr});
}

void ReceiverLines::limit(CreditBudget& budget, uint64_t source, NetTally& tally) {
  for (Line& line : lines_) line.credit = std::make_unique<CreditGiver>(budget, source, tally);
}

/// What is unread when a connection is closed resets it, and what was just said would be lost.
ReceiverLines::~ReceiverLines() {
  for (Line& line : lines_) {
    if (ControlLine* open = line.listener.line()) hear(line, *open);
  }
}

bool ReceiverLines::serve(const Arrived& arrived) {
  bool all = true;
  for (Line& line : lines_) {
    ControlLine* const open = line.listener.line();
    if (open == nullptr) {
      all = all && line.told == arrived.code();  // it may come later, and must hear it then
      continue;
    }
    if (line.told < arrived.code()) {
      const Result<bool> sent = open->send(ControlKind::arrived, arrived.code());
      if (sent.ok() && *sent) line.told = arrived.code();
      all = all && (!sent.ok() || *sent);
    }
    hear(line, *open);
  }
  return all;
}

void ReceiverLines::grant(uint64_t room) {
  for (Line& line : lines_) {
    CreditGiver* const credit = line.credit.get();
    if (credit == nullptr || credit->settled()) continue;
    ControlLine* open = line.listener.line();
    if (open != nullptr && credit->expects()) hear(line, *open);
    open = line.listener.line();
    if (open == nullptr) continue;
    const uint64_t limit = credit->limit(room, now_ns());
    if (limit != credit->told()) {
      const Result<bool> sent = open->send(ControlKind::credit, limit);
      if (!sent.ok()) line.listener.drop();
      if (!sent.ok() || !*sent) continue;
      credit->tell(limit);
    }
    credit->settle();
  }
}

void ReceiverLines::hear(Line& line, ControlLine& open) {
  for (;;) {
    const auto frame = open.receive();
    if (!frame.ok()) return line.listener.drop();
    if (!frame->has_value()) return;
    const auto& [magic, kind, value] = **frame;
    if (kind == ControlKind::gone) gone_ |= value;
    if (kind == ControlKind::announced && line.credit) line.credit->hear(value);
  }
}

}  // namespace weir::tcp
