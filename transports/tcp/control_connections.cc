// SPDX-License-Identifier: Apache-2.0

#include "transports/tcp/control_connections.h"

#include <algorithm>

#include "src/base/clock.h"

namespace weir::tcp {

SenderControls::SenderControls(std::vector<ControlConnection> controls, int64_t timeout_ns,
                               LiveNetCounters* live_counters, const SocketEvents& events)
    : controls_(controls.size()), timeout_ns_(timeout_ns), events_(events) {
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
  return control.open = *ready;
}

void SenderControls::leave(size_t path) {
  controls_[path].connection.reset();
  controls_[path].open = false;
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
    if (!control.open || control.told_gone == gone_) continue;
    const Result<bool> sent = control.connection->send(ControlKind::gone, gone_);
    if (sent.ok() && *sent) control.told_gone = gone_;
  }
}

bool SenderControls::has_told_gone() const {
  return gone_ == 0 || std::ranges::any_of(controls_, [this](const Control& control) {
           return control.open && control.told_gone == gone_;
         });
}

void SenderControls::hear(Control& control) {
  for (;;) {
    const auto frame = control.connection->receive();
    if (!frame.ok()) return end(control, frame.status());
    if (!frame->has_value()) return;
    const auto& [magic, kind, value] = **frame;
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
                                   const SocketEvents& events) {
  for (const DeliveryKey& key : keys)
    controls_.push_back({IncomingControl(listener, key, events), 0, nullptr});
}

void ReceiverControls::limit(CreditBudget& budget, uint64_t source, LiveNetCounters& live_counters) {
  for (Control& control : controls_)
    control.credit = std::make_unique<ReceiverCredit>(budget, source, live_counters);
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
    if (kind == ControlKind::gone) gone_ |= value;
    if (kind == ControlKind::announced && control.credit) control.credit->hear(value);
  }
}

}  // namespace weir::tcp
