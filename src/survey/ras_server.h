// SPDX-License-Identifier: Apache-2.0
/// The RAS port: a thread that sends reports of this process's job to ncclras and other clients of its
/// protocol.
///
/// All processes of a user may listen at one address; the kernel gives each client to one of them. Clients
/// beyond kMostClients wait. Where reports are for the user only, other clients get one line and are closed:
/// those of other users, and those of other hosts, whose user is not known.
/// Tests: tests/survey/ras_server_test.cc
#pragma once

#include <poll.h>

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "src/base/status.h"
#include "src/net/listener/rejections.h"
#include "src/net/listener/report_readers.h"
#include "src/net/socket.h"
#include "src/survey/ras_session.h"

namespace weir::survey {

class RasServer {
 public:
  static constexpr size_t kMostClients = 64;

  struct Setup {
    SocketAddress address;      ///< address for clients; port 0: any free port
    double timeout_factor = 1;  ///< factor of the client's timeout for answers of other processes
    ReportReaders readers = ReportReaders::user;
    RasVersions versions;
    std::function<core::ProcessReport()> own;  ///< report of this process, without channels
    /// Makes the profilers of this process get events of these kinds.
    std::function<void(int32_t kinds)> set_profiler_mask;
    /// What opens the reports of the other processes of the job; may be empty.
    std::function<std::vector<ReportAccess>()> access;
  };

  /// Starts the thread. Errors: invalid_usage if reports are for nobody; those of Socket::listen and
  /// start_thread.
  static Result<std::unique_ptr<RasServer>> start(Setup setup);
  /// Ends the thread, within some milliseconds.
  ~RasServer();
  RasServer(const RasServer&) = delete;
  RasServer& operator=(const RasServer&) = delete;

  /// The address at which it listens.
  const SocketAddress& address() const { return setup_.address; }
  /// For a forked child, which has no such thread: closes the port, so that clients do not wait for it. The
  /// object is not destroyed in the child.
  void abandon() { listener_.close(); }

 private:
  struct Client {
    Client(Socket connection, bool controls) : socket(std::move(connection)), session(controls) {}
    Socket socket;
    RasSession session;
    std::string out;        ///< bytes to send
    bool reported = false;  ///< the report was made; nothing is sent after it
    bool gone = false;
  };

  RasServer(Setup setup, Socket listener, Socket stop);
  void serve();
  void serve_round();
  void give_up_clients(const Status& why);
  void wait();
  void admit();
  bool is_reader(const Socket& client) const;
  void refuse(Client& client);
  void hear(Client& client);
  void answer(Client& client);
  void tell_changes();
  Job gather(int64_t timeout_ms, std::optional<int32_t> profiler_mask = std::nullopt) const;
  bool is_monitored() const;

  Setup setup_;
  Socket listener_;
  Socket stop_;
  std::atomic<bool> stopping_{false};
  std::list<Client> clients_;
  Rejections rejections_;
  std::vector<pollfd> polls_;  ///< used by wait(); a member, so that a child forked meanwhile leaks nothing
  Job known_;                  ///< job of the last survey for monitoring clients
  int64_t next_look_ns_ = 0;
  std::thread thread_;
};

}  // namespace weir::survey
