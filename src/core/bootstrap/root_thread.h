// SPDX-License-Identifier: Apache-2.0
/// The thread of one bootstrap root; for root.cc only.
/// Tests: tests/core/bootstrap_test.cc, tests/core/bootstrap_roots_test.cc
#pragma once

#include <poll.h>

#include <atomic>
#include <list>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "src/base/clock.h"
#include "src/base/scheduling_delay.h"
#include "src/core/bootstrap/frames.h"
#include "src/core/bootstrap/roll_call.h"
#include "src/core/bootstrap/root.h"
#include "src/core/bootstrap/root_wire.h"
#include "src/net/listener/rejections.h"

namespace weir::core {

/// One bootstrap. Everything but start, stop and finished() happens on its own thread.
class Root {
 public:
  Root(Socket listener, const UniqueId& id, const Credentials& credentials, const Timeouts& timeouts,
       uint64_t host)
      : listener_(std::move(listener)),
        id_(id),
        credentials_(credentials),
        timeouts_(timeouts),
        host_(host) {}
  ~Root() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(stop_.fd(), &one, sizeof one);
    if (thread_.joinable()) thread_.join();
  }

  Status start();
  bool finished() const { return finished_.load(); }
  /// True while it only reports its failure to late ranks; a new root may then take over its port.
  bool lingers() const { return lingers_.load(); }
  const UniqueId& id() const { return id_; }
  /// Held by its thread, except while that waits.
  std::mutex& working() { return working_; }

 private:
  struct Connection {
    explicit Connection(Socket socket) : frames(std::move(socket)) {
      frames.distrust(root_wire::kMostStrangeBytes);
    }
    Frames frames;
    Challenge challenge{};
    std::optional<root_wire::Hello> hello;
    int64_t heard_ns = now_ns();
    bool done = false;
    bool gone = false;
    bool parting = false;  ///< gone once it has taken what was sent
    bool due = true;       ///< the socket is readable or writable
  };

  void serve();
  bool wait(std::unique_lock<std::mutex>& working);
  void note_pause(int64_t now);
  void serve_round(int64_t now);
  void admit(int64_t now);
  bool admit_one();
  void send_a_stranger_away(std::string_view why);
  void reject(Connection& connection, std::string_view why);
  bool understand(Connection& connection, const Bytes& frame, int64_t now);
  size_t strangers() const;
  bool may_send_away(int64_t now) const;
  void listen_to(Connection& connection, int64_t now);
  void welcome(Connection& connection, root_wire::Hello hello, int64_t now);
  void welcome_late(Connection& connection, int64_t now);
  bool show_proof(Connection& connection, const root_wire::Hello& hello) const;
  void take_hellos(const Connection& relay, BytesView frame);
  void take_listeners(BytesView frame);
  void serve_relay();
  void introduce(uint64_t uid, const std::vector<root_wire::Listeners::Entry>& listeners);
  std::string_view silence_of(Connection& connection, int64_t now) const;
  void look_for_trouble(int64_t now);
  void fail(const Status& status, Rank culprit = -1);
  bool give_up(const Status& why);
  void tell_connections(bool here);
  void tell_those_here(int64_t now);
  void tell_at_listeners(bool here) const;
  bool over(int64_t now) const;
  bool introduced() const { return uid_ != 0; }

  Socket listener_;
  const UniqueId id_;
  const Credentials credentials_;
  const Timeouts timeouts_;
  const uint64_t host_;
  Socket stop_;
  std::mutex working_;
  std::list<Connection> connections_;
  std::vector<pollfd> polls_;  ///< used by wait(); a member, so that a child forked meanwhile leaks nothing
  RollCall roll_call_;
  /// To the first root, if this is another one.
  struct Relay {
    Connection* connection = nullptr;
    std::vector<const root_wire::Hello*> unreported;  ///< of which the first root has to learn
    std::vector<root_wire::Listeners::Entry>
        listeners;  ///< of all ranks, as far as they have come from there
    bool released = false;
  } relay_;
  bool told_here_ = false;
  uint64_t uid_ = 0;      ///< uid of the communicator; 0 until introduce()
  int64_t began_ns_ = 0;  ///< time of the first hello; 0 before
  int64_t failed_ns_ = 0;
  int64_t next_ping_ns_ = 0;
  int64_t last_round_ns_ = 0;
  Status failure_;
  Rank culprit_ = -1;  ///< of failure_; -1: none
  SchedulingDelay delay_;
  Rejections rejections_;
  std::atomic<bool> began_{false};  ///< its thread holds working_ wherever it does not wait
  std::atomic<bool> finished_{false};
  std::atomic<bool> lingers_{false};
  std::thread thread_;
};

}  // namespace weir::core
