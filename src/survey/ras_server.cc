// SPDX-License-Identifier: Apache-2.0

#include "src/survey/ras_server.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <system_error>
#include <utility>

#include "src/base/clock.h"
#include "src/base/exception.h"
#include "src/base/log.h"
#include "src/base/service_thread.h"
#include "src/base/shortage.h"
#include "src/net/connection_owner.h"
#include "src/net/peer_process.h"

namespace weir::survey {
namespace {

constexpr int64_t kPauseMs = 100;         ///< pause after a client could not be accepted
constexpr int64_t kLookMs = 1000;         ///< time between two surveys for monitoring clients
constexpr size_t kMostUnsent = 64 << 20;  ///< maximum bytes queued for a client

}  // namespace

RasServer::RasServer(Setup setup, Socket listener, Socket stop)
    : setup_(std::move(setup)), listener_(std::move(listener)), stop_(std::move(stop)) {}

Result<std::unique_ptr<RasServer>> RasServer::start(Setup setup) {
  if (setup.readers == ReportReaders::nobody)
    return Status(Code::invalid_usage, "this process shows its reports to nobody (WEIR_REPORTS=off)");
  auto listener = Socket::listen(setup.address, Socket::Sharing::with_user);
  WEIR_TRY(listener.status());
  const auto address = listener->local_address();
  WEIR_TRY(address.status());
  setup.address = *address;
  Socket stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop.valid()) return system_failure("cannot start the RAS port", errno);
  std::unique_ptr<RasServer> server(new RasServer(std::move(setup), std::move(*listener), std::move(stop)));
  auto thread = start_thread(
      "weir ras", [raw = server.get()] { raw->serve(); }, [](const Status&) {});
  WEIR_TRY(thread.status());
  server->thread_ = std::move(*thread);
  return server;
}

RasServer::~RasServer() {
  stopping_.store(true);
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(stop_.fd(), &one, sizeof one);
  if (thread_.joinable()) thread_.join();
}

void RasServer::serve() {
  while (!stopping_.load()) {
    const Status served = guarded([this] {
      serve_round();
      return Status();
    });
    if (!served.ok()) give_up_clients(served);
  }
  for (const Client& client : clients_) shutdown(client.socket.fd(), SHUT_RDWR);
}

void RasServer::serve_round() {
  wait();
  for (Client& client : clients_) {
    if (!client.gone) answer(client);
  }
  if (is_monitored() && now_ns() >= next_look_ns_) tell_changes();
  clients_.remove_if([](const Client& client) {
    const bool over = client.gone || (client.reported && client.out.empty());
    // A forked child may have inherited the connection: closing it only here would not end it.
    if (over) shutdown(client.socket.fd(), SHUT_RDWR);
    return over;
  });
}

/// Without memory no client can be served: giving them up frees memory for the job.
void RasServer::give_up_clients(const Status& why) {
  for (const Client& client : clients_) shutdown(client.socket.fd(), SHUT_RDWR);
  clients_.clear();
  known_ = {};
  (void)guarded([&] {
    WEIR_WARN("the RAS port gave up its clients: {}", why.message());
    return Status();
  });
  (void)wait_for(stop_.fd(), POLLIN, Deadline::in_ms(kPauseMs));
}

/// Waits until a client connects, or a socket is readable or writable.
void RasServer::wait() {
  polls_ = {{stop_.fd(), POLLIN, 0},
            {listener_.fd(), static_cast<short>(clients_.size() < kMostClients ? POLLIN : 0), 0}};
  for (const Client& client : clients_) {
    const int events = (client.reported ? 0 : POLLIN) | (client.out.empty() ? 0 : POLLOUT);
    polls_.push_back({client.socket.fd(), static_cast<short>(events), 0});
  }
  poll(polls_.data(), polls_.size(), is_monitored() ? static_cast<int>(kLookMs) : -1);
  auto at = polls_.cbegin() + 2;
  for (Client& client : clients_) {
    const short events = (at++)->revents;
    client.gone = client.reported && (events & (POLLERR | POLLHUP)) != 0;
    if (!client.reported && (events & ~POLLOUT) != 0) hear(client);
  }
  if (polls_[1].revents != 0) admit();
}

void RasServer::admit() {
  while (clients_.size() < kMostClients) {
    auto accepted = listener_.accept();
    if (!accepted.ok()) {  // no descriptors: clients stay in the backlog, and the listener stays readable
      (void)wait_for(stop_.fd(), POLLIN, Deadline::in_ms(kPauseMs));
      return;
    }
    if (!accepted->has_value()) return;
    Client& client = clients_.emplace_back(std::move(**accepted), setup_.readers == ReportReaders::user);
    if (!is_reader(client.socket)) refuse(client);
  }
}

bool RasServer::is_reader(const Socket& client) const {
  if (setup_.readers == ReportReaders::everybody) return true;
  const auto user = connection_owner(client);
  return user && is_own_user_or_root(*user);
}

/// Says why, and no more. What the client has said already is read: closing a socket with unread bytes makes
/// the kernel drop the connection.
void RasServer::refuse(Client& client) {
  std::array<std::byte, 1024> ignored;
  (void)client.socket.try_recv(ignored);
  client.out =
      "ERROR: the reports of this process are for its user and root on this host; WEIR_REPORTS=all in its "
      "environment would show them to everybody\n";
  client.reported = true;
  const auto line = rejections_.add("it is none of the same user or root on this host (WEIR_REPORTS)",
                                    client.socket.peer_text(), now_ns());
  if (line) WEIR_INFO(ras, "{}", *line);
}

void RasServer::hear(Client& client) {
  std::array<std::byte, 1024> bytes;
  const auto got = client.socket.try_recv(bytes);
  if (!got.ok()) {
    client.gone = true;
    return;
  }
  const bool monitored = is_monitored();
  client.out += client.session.take({reinterpret_cast<const char*>(bytes.data()), *got});
  client.gone = client.session.broken();
  if (const auto mask = client.session.take_profiler_mask()) {
    if (setup_.set_profiler_mask) setup_.set_profiler_mask(*mask);
    (void)gather(client.session.timeout_ms(), mask);
  }
  if (!monitored && client.session.monitors() && !client.gone) known_ = gather(kLookMs);
}

/// Makes the report, if the client wants one, and sends as much as the socket accepts.
void RasServer::answer(Client& client) {
  if (client.session.wants_report() && !client.reported) {
    client.out += client.session.report(gather(client.session.timeout_ms()), setup_.versions);
    client.reported = true;
  }
  while (!client.out.empty()) {
    const auto sent = client.socket.try_send(std::as_bytes(std::span(client.out)));
    if (!sent.ok() || client.out.size() > kMostUnsent) client.gone = true;
    if (!sent.ok() || *sent == 0) return;
    client.out.erase(0, *sent);
  }
}

void RasServer::tell_changes() {
  Job now = gather(kLookMs);
  const std::vector<RasEvent> events = changes(known_, now);
  for (Client& client : clients_) client.out += client.session.events(events);
  known_ = std::move(now);
  next_look_ns_ = now_ns() + kLookMs * 1'000'000;
}

Job RasServer::gather(int64_t timeout_ms, std::optional<int32_t> profiler_mask) const {
  const int64_t begun = now_ns();
  SurveyRequest request;
  request.own = setup_.own();
  if (setup_.access) request.own_access = setup_.access();
  request.scope.recent = 0;
  request.scope.channels = false;
  request.scope.profiler_mask = profiler_mask;
  request.timeout_ms =
      std::max<int64_t>(static_cast<int64_t>(setup_.timeout_factor * static_cast<double>(timeout_ms)), 1);
  request.abort = &stopping_;
  const std::vector<QueriedProcess> asked = take(request);
  return job_of(asked, static_cast<double>(now_ns() - begun) / 1e9);
}

bool RasServer::is_monitored() const {
  return std::ranges::any_of(clients_, [](const Client& one) { return one.session.monitors(); });
}

}  // namespace weir::survey
