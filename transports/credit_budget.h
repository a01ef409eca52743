// SPDX-License-Identifier: Apache-2.0
/// Limits how much peers may have in flight towards this process: the receiver grants credit (bytes) to all
/// its senders together, so that they do not overrun the buffer of the switch port that leads here (incast).
///
/// Every channel has an account. Half of the budget is divided evenly as standing credit, which a sender may
/// use at any time; the other half is granted in chunks, round-robin, to senders that have announced more
/// than they may send. A single waiting sender may get all of the budget; if others start meanwhile, up to
/// half of the budget more is in flight for a moment. Credit counts until the bytes have arrived. A process
/// that alone has sent everything for a while (kTrusted bytes, without a pause) may send ahead regardless of
/// the budget, until another process sends: rings pay nothing. There is at most one such process, and a
/// single sender does not build a queue at a port that is no slower than its own.
///
/// Other senders get credit only for announced bytes, so that they do not hold unused credit; if one does all
/// the same (its process is stopped, or this end of its channel is not served), its share counts as free
/// after kForgottenNs. This exceeds the budget for a moment instead of stopping all senders.
///
/// Receiver-driven admission follows NCCL's clear-to-send and Homa (Montazeri et al., SIGCOMM 2018); counts
/// are running totals, as in HTTP/2 and QUIC.
///
/// Thread-safe. Accounts are used by one thread at a time and do not outlive their budget.
/// Tests: tests/transports/credit_budget_test.cc
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

namespace weir {

class CreditBudget {
 public:
  /// Bytes of one grant.
  static constexpr uint64_t kChunk = 8 << 10;
  /// Bytes that a sender may always send, so that small messages need no grant: the first credit of a
  /// channel, and the lower limit of the standing credit for any number of channels.
  static constexpr uint64_t kLeast = 512;
  /// Smallest change of credit that is sent to a sender that lacks credit, unless nothing more is to come or
  /// it has waited long; bytes. Three segments of an MTU of 1500, because every credit message costs the port
  /// an acknowledgement.
  static constexpr uint64_t kWorthTelling = 3 * 1448;
  static constexpr int64_t kForgottenNs = 50'000'000;
  /// A pause after which the history of senders is forgotten; ns.
  static constexpr int64_t kPauseNs = 20'000'000;
  /// Bytes that must arrive from one process, and none from others meanwhile, before it may send kOpen bytes
  /// ahead.
  static constexpr uint64_t kTrusted = 512 << 10;
  static constexpr uint64_t kOpen = 16 << 20;

  class Account {
   public:
    Account(const Account&) = delete;
    Account& operator=(const Account&) = delete;
    ~Account();

    /// Takes what the sender has announced, what has arrived here, and the limit that the sender was told
    /// last, all in bytes since the channel began. Returns the limit up to which it may send, or `told` if
    /// the change is not worth a message. Limits may fall when channels are added.
    uint64_t limit(uint64_t announced, uint64_t arrived, uint64_t told, int64_t now);

   private:
    friend class CreditBudget;
    Account(CreditBudget& budget, uint64_t source) : budget_(budget), source_(source), node_{this} {}

    CreditBudget& budget_;
    const uint64_t source_;
    uint64_t announced_ = 0;
    uint64_t arrived_ = 0;
    uint64_t limit_ = 0;
    uint64_t extra_ = 0;   ///< share of the shared half that this account holds, in bytes
    int64_t changed_ = 0;  ///< time of the last announcement or arrival; 0: none yet
    bool queued_ = false;
    bool open_ = false;                    ///< the sender was told that it may send ahead
    bool forgotten_ = false;               ///< not counted, and not granted anything, until something changes
    std::list<Account*>::iterator place_;  ///< position in accounts_
    std::list<Account*> node_;             ///< holds this account's node while it is not in waiting_
  };

  /// `bytes`: size of the budget; 0: unlimited.
  explicit CreditBudget(uint64_t bytes) : bytes_(bytes) {}
  ~CreditBudget();

  /// Opens the account of a channel. `source` identifies the sender's process.
  std::unique_ptr<Account> open(uint64_t source);
  void set_bytes(uint64_t bytes);
  uint64_t bytes() const;

 private:
  uint64_t standing() const;
  uint64_t shared() const;
  void recount(Account& account);
  void renew(Account& account);
  void hand_out(int64_t now);
  bool give(Account& account);
  void follow(const Account& account, uint64_t came, int64_t now);
  void set_open(Account& account, bool open);
  void enqueue(Account& account);
  void dequeue(Account& account);
  bool is_news(const Account& account, uint64_t told, int64_t now) const;
  bool forget(int64_t now);

  mutable std::mutex mutex_;
  uint64_t bytes_;
  uint64_t extra_ = 0;   ///< sum of extra_ over all accounts
  int64_t forgot_ = 0;   ///< time of the last forget()
  uint64_t source_ = 0;  ///< process from which alone bytes arrived last; streak_: how many
  uint64_t streak_ = 0;
  int64_t streak_end_ = 0;    ///< time of the last arrival of the streak
  uint64_t open_source_ = 0;  ///< process that may send ahead, or still could; open_: number of its channels
  size_t open_ = 0;
  std::list<Account*> accounts_;
  std::list<Account*> waiting_;  ///< accounts with more announced than granted, in round-robin order
};

}  // namespace weir
