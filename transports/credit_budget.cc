// SPDX-License-Identifier: Apache-2.0

#include "transports/credit_budget.h"

#include <algorithm>
#include <cassert>

namespace weir {
namespace {

constexpr uint64_t kUnlimited = UINT64_MAX / 2;
constexpr int64_t kLookEveryNs = 5'000'000;

}  // namespace

CreditBudget::~CreditBudget() { assert(accounts_.empty()); }

std::unique_ptr<CreditBudget::Account> CreditBudget::open(uint64_t source) {
  std::unique_ptr<Account> account(new Account(*this, source));
  const std::lock_guard lock(mutex_);
  accounts_.push_back(account.get());
  account->place_ = std::prev(accounts_.end());
  return account;
}

CreditBudget::Account::~Account() {
  const std::lock_guard lock(budget_.mutex_);
  budget_.extra_ -= extra_;
  budget_.accounts_.erase(place_);
  if (queued_) budget_.dequeue(*this);
  budget_.set_open(*this, false);
}

void CreditBudget::set_bytes(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  bytes_ = bytes;
}

uint64_t CreditBudget::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

uint64_t CreditBudget::standing() const {
  return std::max(kLeast, bytes_ / 2 / std::max<uint64_t>(1, accounts_.size()));
}

/// The half of the budget that is granted on demand.
uint64_t CreditBudget::shared() const {
  const uint64_t dealt = standing() * accounts_.size();
  return std::max(kChunk, bytes_ - std::min(bytes_, dealt));
}

/// Recounts how much of the shared half the account holds: bytes that it may send beyond its standing credit.
void CreditBudget::recount(Account& account) {
  const uint64_t free = account.arrived_ + standing();
  const uint64_t extra = account.limit_ > free && !account.open_ ? account.limit_ - free : 0;
  extra_ += extra - account.extra_;
  account.extra_ = extra;
}

uint64_t CreditBudget::Account::limit(uint64_t announced, uint64_t arrived, uint64_t told, int64_t now) {
  const std::lock_guard lock(budget_.mutex_);
  if (budget_.bytes_ == 0) return told >= kUnlimited ? told : 2 * kUnlimited;
  if (announced != announced_ || arrived != arrived_ || changed_ == 0) {
    budget_.follow(*this, arrived - arrived_, now);
    announced_ = announced;
    arrived_ = arrived;
    changed_ = now;
    forgotten_ = false;
    budget_.renew(*this);
    budget_.recount(*this);
  }
  if (announced_ > limit_ && !queued_ && !forgotten_) budget_.enqueue(*this);
  budget_.hand_out(now);
  return budget_.is_news(*this, told, now) ? limit_ : told;
}

/// A sender that lacks credit is told of a few segments, and of any change after a while without arrivals;
/// other senders only when their credit has changed by half.
bool CreditBudget::is_news(const Account& account, uint64_t told, int64_t now) const {
  const uint64_t change = account.limit_ > told ? account.limit_ - told : told - account.limit_;
  if (account.announced_ <= told) return change >= (account.open_ ? kOpen : standing()) / 2;
  if (account.limit_ <= told) return false;
  return account.limit_ >= account.announced_ ||
         change >= std::clamp(standing() / 2, kWorthTelling, kChunk) || now - account.changed_ > kLookEveryNs;
}

/// Tracks from which process alone bytes have arrived, and how many.
void CreditBudget::follow(const Account& account, uint64_t came, int64_t now) {
  if (source_ != account.source_ || now - streak_end_ > kPauseNs) streak_ = 0;
  source_ = account.source_;
  streak_end_ = now;
  streak_ += came;
}

/// The open process must be told its lower limit before another process may send ahead.
void CreditBudget::set_open(Account& account, bool open) {
  if (open != account.open_) open_ += open ? 1 : -1;
  account.open_ = open;
  if (open) open_source_ = account.source_;
}

/// Renews the standing credit. Takes back unannounced credit beyond it: the account got that before channels
/// were added or the budget has shrunk.
void CreditBudget::renew(Account& account) {
  const uint64_t free = account.arrived_ + standing();
  const bool idle = account.announced_ <= account.arrived_;
  const bool only = source_ == account.source_ && streak_ >= kTrusted;
  set_open(account, only && (open_ == 0 || open_source_ == account.source_));
  if (account.open_) {
    account.limit_ = std::max(account.limit_, account.arrived_ + kOpen);
  } else if (idle || account.limit_ > std::max(free, account.announced_)) {
    account.limit_ = std::max(free, account.announced_);
  } else {
    account.limit_ = std::max(free, account.limit_);
  }
}

/// Splices list nodes, so that nothing is allocated.
void CreditBudget::enqueue(Account& account) {
  if (source_ != account.source_) streak_ = 0;
  waiting_.splice(waiting_.end(), account.node_);
  account.queued_ = true;
}

void CreditBudget::dequeue(Account& account) {
  const auto place = std::find(waiting_.begin(), waiting_.end(), &account);
  account.node_.splice(account.node_.end(), waiting_, place);
  account.queued_ = false;
}

/// Grants chunks to the waiting accounts, round-robin.
void CreditBudget::hand_out(int64_t now) {
  while (!waiting_.empty()) {
    Account& first = *waiting_.front();
    if (first.announced_ > first.limit_ && !give(first)) {
      if (!forget(now)) return;
      continue;
    }
    dequeue(first);
    if (first.announced_ > first.limit_) enqueue(first);
  }
}

/// Grants one chunk, if the budget allows it. A single waiting account may use more than half of the budget.
bool CreditBudget::give(Account& account) {
  const bool alone = waiting_.size() == 1 && extra_ == account.extra_;
  const uint64_t most = alone ? std::max(bytes_, kChunk) : shared();
  const uint64_t wanted = std::min(kChunk, account.announced_ - account.limit_);
  if (extra_ > 0 && extra_ + wanted > most) return false;
  account.limit_ += wanted;
  recount(account);
  return true;
}

/// Stops counting credit of accounts without any change for kForgottenNs. Returns whether there were any.
bool CreditBudget::forget(int64_t now) {
  if (now - forgot_ < kLookEveryNs) return false;
  forgot_ = now;
  bool found = false;
  for (Account* account : accounts_) {
    if (account->extra_ == 0 || now - account->changed_ < kForgottenNs) continue;
    extra_ -= account->extra_;
    account->extra_ = 0;
    account->forgotten_ = true;
    if (account->queued_) dequeue(*account);
    found = true;
  }
  return found;
}

}  // namespace weir
