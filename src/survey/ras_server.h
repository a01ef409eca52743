// SPDX-License-Identifier: Apache-2.0
/// The RAS port: a thread that answers ncclras, and what else speaks its protocol, with what the job of this
/// process is doing.
///
/// All processes of a user may listen at one address; the kernel gives each client to one of them. Clients
/// beyond kMostClients wait.
#pragma once

#include <poll.h>

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <thread>
#include <vector>

#include "src/net/socket.h"
#include "src/survey/ras_session.h"
#include "weir/status.h"

namespace weir::survey {

class RasServer {
 public:
  static constexpr size_t kMostClients = 64;

  struct Setup {
    SocketAddress address;  ///< where clients come; port 0: any free one
    double patience = 1;    ///< factor for how long other processes may take
    RasVersions versions;
    std::function<core::ProcessReport()> own;  ///< report of this process, without channels
  };

  /// Errors are those of Socket::listen.
  static Result<std::unique_ptr<RasServer>> start(Setup setup);
  /// Ends the thread, within some milliseconds.
  ~RasServer();
  RasServer(const RasServer&) = delete;
  RasServer& operator=(const RasServer&) = delete;

  /// Where it listens.
  const SocketAddress& address() const { return setup_.address; }
  /// In a forked child, which has no such thread: clients shall not wait for it. It is not destroyed there.
  void abandon() { listener_.close(); }

 private:
  struct Client {
    explicit Client(Socket connection) : socket(std::move(connection)) {}
    Socket socket;
    RasSession session;
    std::string out;        ///< to be sent
    bool reported = false;  ///< nothing comes after it
    bool gone = false;
  };

  RasServer(Setup setup, Socket listener, Socket stop);
  void serve();
  void wait();
  void admit();
  void hear(Client& client);
  void answer(Client& client);
  void tell_changes();
  Job gather(int64_t patience_ms) const;
  bool is_monitored() const;

  Setup setup_;
  Socket listener_;
  Socket stop_;
  std::atomic<bool> stopping_{false};
  std::list<Client> clients_;
  std::vector<pollfd> polls_;  ///< of wait(); here, so that a child that was forked meanwhile leaks nothing
  Job known_;                  ///< by those that monitor
  int64_t next_look_ns_ = 0;
  std::thread thread_;
};

}  // namespace weir::survey
