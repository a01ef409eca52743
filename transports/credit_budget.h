// SPDX-License-Identifier: Apache-2.0
/// How much peers may send towards this process at once: bytes that the receiver grants to all its senders
/// together, so that they do not overrun the buffer of the switch port that leads here (incast).
///
/// Every channel has an account. Half of the budget is dealt out evenly as standing credit, which a sender
/// may use without asking; the other half goes, in chunks and in turn, to those who have announced more than
/// they may send. Who is the only one to ask may have all of the budget; when others begin meanwhile, up to
/// half of it more is under way for a moment. Credit counts until what it allows has arrived. A process from
/// which alone everything has come for a while (kTrusted bytes, without a pause) is not held up by the budget
/// at all, until another sends: rings pay nothing. There is one such process at most, and one alone does not
/// make a queue at a port that is no slower than its own.
///
/// To all others nothing is granted that was not announced, so that a sender does not sit on it; where one
/// does all the same (it is stopped, or this end of its channel is not served), its share counts as free
/// after kForgottenNs. That bends the budget, for a moment, instead of holding everybody up.
///
/// Receiver-driven admission follows NCCL's clear-to-send and Homa (Montazeri et al., SIGCOMM 2018); counts
/// are running totals, as in HTTP/2 and QUIC.
///
/// Thread-safe. Accounts are used by one thread at a time and do not outlive their budget.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

namespace weir {

class CreditBudget {
 public:
  /// What is handed out at once.
  static constexpr uint64_t kChunk = 8 << 10;
  /// A sender may always send as much, so that small messages need not ask: the first credit of a channel,
  /// and the least standing one however many channels there are.
  static constexpr uint64_t kLeast = 512;
  /// Who is held up is told of no less at a time, three segments of an MTU of 1500, where more is to come and
  /// it has not waited for long: every word of credit costs the port an acknowledgement.
  static constexpr uint64_t kWorthTelling = 3 * 1448;
  static constexpr int64_t kForgottenNs = 50'000'000;
  /// A pause after which nothing is known of who sends.
  static constexpr int64_t kPauseNs = 20'000'000;
  /// What has to come from one process, and nothing from others meanwhile, before it may send kOpen bytes
  /// ahead.
  static constexpr uint64_t kTrusted = 512 << 10;
  static constexpr uint64_t kOpen = 16 << 20;

  class Account {
   public:
    Account(const Account&) = delete;
    Account& operator=(const Account&) = delete;
    ~Account();

    /// What the sender has announced, what has arrived here, and the limit it was told last, all in bytes
    /// since the channel began. Gives the limit up to which it may send: the one it knows, where another
    /// would not be worth a message. Limits may fall when channels are added.
    uint64_t limit(uint64_t announced, uint64_t arrived, uint64_t told, int64_t now);

   private:
    friend class CreditBudget;
    Account(CreditBudget& budget, uint64_t source) : budget_(budget), source_(source), node_{this} {}

    CreditBudget& budget_;
    const uint64_t source_;
    uint64_t announced_ = 0;
    uint64_t arrived_ = 0;
    uint64_t limit_ = 0;
    uint64_t extra_ = 0;   ///< of the shared half, as it counts there
    int64_t changed_ = 0;  ///< when something was last announced or arrived; 0: never asked
    bool queued_ = false;
    bool open_ = false;                    ///< it was told that it may send ahead
    bool forgotten_ = false;               ///< does not count, and gets nothing, before something changes
    std::list<Account*>::iterator place_;  ///< in accounts_
    std::list<Account*> node_;             ///< itself, while it is not in waiting_
  };

  /// `bytes`: 0: unlimited.
  explicit CreditBudget(uint64_t bytes) : bytes_(bytes) {}
  ~CreditBudget();

  /// For a channel. `source` names the process that it comes from.
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
  uint64_t extra_ = 0;   ///< sum over accounts
  int64_t forgot_ = 0;   ///< when forget() last looked
  uint64_t source_ = 0;  ///< from which alone bytes came last, and how many
  uint64_t streak_ = 0;
  int64_t streak_end_ = 0;    ///< when the last of them came
  uint64_t open_source_ = 0;  ///< which may send ahead, or still could, over so many channels
  size_t open_ = 0;
  std::list<Account*> accounts_;
  std::list<Account*> waiting_;  ///< who may send less than it has announced, in turn
};

}  // namespace weir
