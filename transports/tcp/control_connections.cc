// SPDX-License-Identifier: Apache-2.0

#include "transports/tcp/control_connections.h"

#include <algorithm>

#include "src/base/clock.h"

namespace weir::tcp {

SenderControls::SenderControls(std::vector<ControlConnection> controls, int64_t timeout_ns,
                               LiveNetCounters* live_counters, const SocketEvents& events)
    : controls_(controls.size()), timeout_ns_(timeout_ns), events_(events), live_counters_(live_counters) {
  for (size_t i = 0; i < controls.size(); ++i) {
    if (live_counters != nullptr) controls_[i].credit.emplace(*live_counters);
    controls_[i].connection = std::make_unique<ControlConnection>(std::move(controls[i]));
  }
}

/// Stalls that have not ended are counted, too.
SenderControls::~SenderControls() {
  for (Control& control : controls_) {
    if (control.credit) control.credit->go_on(now_ns());
  }
}

void SenderControls::end(Control& control, const Status& why) {
  control.ended = why.message();
  control.open = false;
  control.connection.reset();
}

bool SenderControls::ready(size_t path) {
  Control& control = controls_[path];
  if (control.open || control.connection == nullptr) return control.open;
  const Result<bool> ready = control.connection->ready();
  if (!ready.ok()) {
    end(control, ready.status());
    return false;
  }
  if (*ready) events_.watch(control.connection->socket());
  control.answered = *ready;  // it was not asked yet
  return control.open = *ready;
}

void SenderControls::leave(size_t path) {
  controls_[path].connection.reset();
  controls_[path].open = false;
}

void SenderControls::reopen(size_t path, uint32_t attempt, ControlConnection connection) {
  Control& control = controls_[path];
  if (control.credit) control.credit->go_on(now_ns());
  if (live_counters_ != nullptr) control.credit.emplace(*live_counters_);
  control.ended.clear();
  control.attempt = attempt;
  control.told = 0;
  control.open = control.heard = control.answered = false;
  control.connection = std::make_unique<ControlConnection>(std::move(connection));
}

void SenderControls::tell_gone(const Attempt& stream) {
  std::erase_if(notices_, [&](const Notice& notice) { return notice.stream.index == stream.index; });
  notices_.push_back({stream, ++version_});
}

void SenderControls::refresh(size_t path) {
  Control& control = controls_[path];
  if (control.open && control.credit && control.credit->lacks()) hear(control);
}

void SenderControls::announce(size_t path) {
  Control& control = controls_[path];
  const uint64_t bytes = control.open && control.credit ? control.credit->to_announce() : 0;
  if (bytes == 0) return;
  const Result<bool> sent = control.connection->send(ControlKind::announced, bytes);
  if (!sent.ok()) return end(control, sent.status());
  if (*sent) control.credit->announced(bytes);
}

void SenderControls::serve() {
  for (Control& control : controls_) {
    if (!control.open) continue;
    hear(control);
    if (control.open) tell_news(static_cast<size_t>(&control - controls_.data()));
  }
}

void SenderControls::tell_news(size_t path) {
  Control& control = controls_[path];
  if (control.told_attempt != control.attempt) {
    const Attempt attempt{static_cast<uint32_t>(path), control.attempt};
    const Result<bool> sent = control.connection->send(ControlKind::attempt, attempt.code());
    if (!sent.ok() || !*sent) return;
    control.told_attempt = control.attempt;
  }
  if (control.told == version_) return;
  for (const Notice& notice : notices_) {
    if (notice.version <= control.told) continue;
    const Result<bool> sent = control.connection->send(ControlKind::gone, notice.stream.code());
    if (!sent.ok() || !*sent) return;
    control.told = notice.version;
  }
}

bool SenderControls::has_told_gone() const {
  return version_ == 0 || std::ranges::any_of(controls_, [this](const Control& control) {
           return control.open && control.told == version_;
         });
}

void SenderControls::hear(Control& control) {
  for (;;) {
    const auto frame = control.connection->receive();
    if (!frame.ok()) return end(control, frame.status());
    if (!frame->has_value()) return;
    const auto& [magic, kind, value] = **frame;
    control.heard = true;
    // A later state may have arrived on another path before.
    if (kind == ControlKind::arrived && value > arrived_.code()) arrived_ = Acknowledgement::of(value);
    if (kind == ControlKind::credit && control.credit) control.credit->hear(value);
  }
}

std::vector<size_t> SenderControls::silent(int64_t now) {
  if (!asked_) {
    if (now - asked_ns_ >= timeout_ns_ / 4) ask(now);
    return {};
  }
  std::vector<size_t> quiet;
  bool answered = false;
  for (size_t i = 0; i < controls_.size(); ++i) {
    Control& control = controls_[i];
    if (!control.open) continue;
    control.answered = control.answered || control.connection->confirmed();
    if (!control.answered) quiet.push_back(i);
    answered = answered || control.answered;
  }
  if (quiet.empty()) asked_ = false;
  if (!answered || now - asked_ns_ < timeout_ns_) return {};
  asked_ = false;
  return quiet;
}

void SenderControls::ask(int64_t now) {
  for (Control& control : controls_) {
    if (control.open) [[maybe_unused]]
      const Result<bool> sent = control.connection->send(ControlKind::ping, 0);
    control.answered = false;
  }
  asked_ = true;
  asked_ns_ = now;
}

ReceiverControls::ReceiverControls(Listener& listener, const std::vector<DeliveryKey>& keys,
                                   const SocketEvents& events)
    : listener_(listener), keys_(keys), events_(events) {
  for (const DeliveryKey& key : keys)
    controls_.push_back({IncomingControl(listener, key, events), 0, 0, nullptr, std::nullopt});
}

void ReceiverControls::limit(CreditBudget& budget, uint64_t source, LiveNetCounters& live_counters) {
  limits_ = {&budget, source, &live_counters};
  for (Control& control : controls_) control.credit = limits_->open();
}

void ReceiverControls::follow_attempts() {
  for (size_t path = 0; path < controls_.size(); ++path) follow_attempt(path);
}

void ReceiverControls::follow_attempt(size_t path) {
  Control& control = controls_[path];
  if (!control.next) {
    DeliveryKey key = keys_[path];
    key.life = life_of(key.life, 1);
    auto socket = listener_.collect(key);
    if (!socket) return;
    events_.watch(socket->socket());
    control.next.emplace(std::move(*socket));
  }
  const auto frame = control.next->receive();
  if (!frame.ok()) return control.next.reset();
  if (!frame->has_value()) return;
  const auto [index, number] = Attempt::of((*frame)->value);
  if ((*frame)->kind != ControlKind::attempt || index != path || number <= control.attempt)
    return control.next.reset();
  control.incoming.replace(std::move(*control.next));
  control.next.reset();
  control.told = 0;
  control.attempt = number;
  control.credit = limits_ ? limits_->open() : nullptr;
}

/// Closing a socket with unread data resets the connection, and the peer would lose the last frames.
ReceiverControls::~ReceiverControls() {
  for (Control& control : controls_) {
    if (ControlConnection* open = control.incoming.connection()) hear(control, *open);
  }
}

bool ReceiverControls::serve(const Acknowledgement& arrived) {
  bool all = true;
  for (Control& control : controls_) {
    ControlConnection* const open = control.incoming.connection();
    if (open == nullptr) {
      all = all && control.told == arrived.code();  // if it arrives later, it must be sent then
      continue;
    }
    if (control.told < arrived.code()) {
      const Result<bool> sent = open->send(ControlKind::arrived, arrived.code());
      if (sent.ok() && *sent) control.told = arrived.code();
      all = all && (!sent.ok() || *sent);
    }
    hear(control, *open);
    const ControlConnection* const left = control.incoming.connection();
    all = all && (left == nullptr || !left->unsent());
  }
  return all;
}

void ReceiverControls::grant(uint64_t room) {
  for (Control& control : controls_) {
    ReceiverCredit* const credit = control.credit.get();
    if (credit == nullptr || credit->settled()) continue;
    ControlConnection* open = control.incoming.connection();
    if (open != nullptr && (credit->expects() || open->unsent())) hear(control, *open);
    open = control.incoming.connection();
    if (open == nullptr) continue;
    const uint64_t limit = credit->limit(room, now_ns());
    if (limit != credit->told()) {
      const Result<bool> sent = open->send(ControlKind::credit, limit);
      if (!sent.ok()) control.incoming.drop();
      if (!sent.ok() || !*sent) continue;
      credit->tell(limit);
    }
    if (!open->unsent()) credit->settle();
  }
}

void ReceiverControls::hear(Control& control, ControlConnection& open) {
  for (;;) {
    const auto frame = open.receive();
    if (!frame.ok()) return control.incoming.drop();
    if (!frame->has_value()) return;
    const auto& [magic, kind, value] = **frame;
    if (kind == ControlKind::gone) note_gone(Attempt::of(value));
    if (kind == ControlKind::announced && control.credit) control.credit->hear(value);
  }
}

/// The same may have been said on another path before, and more than that.
void ReceiverControls::note_gone(const Attempt& stream) {
  if (stream.index < gone_.size() && stream.number < UINT32_MAX)
    gone_[stream.index] = std::max(gone_[stream.index], stream.number + 1);
}

}  // namespace weir::tcp
