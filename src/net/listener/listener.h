// SPDX-License-Identifier: Apache-2.0
/// The listener of a process: listening TCP sockets, one per interface in use, a local one by which readers
/// of reports find the process (local_registry.h), and one thread that serves all communicators of the
/// process.
///
/// Each connection begins with a challenge of the listener. The asker answers with a hello of fixed size that
/// states its purpose and proves that it has the secret of a job which this process takes part in:
///  * a delivery: the socket is kept until a thread of this process collects it by its key (TCP channels).
///  * a message: the bytes are kept until a thread collects them by their key (bootstrap exchanges). Further
///    messages may follow on the same connection, which stays open until the asker ends it.
///    Deliveries and messages may arrive before or after the collecting call; those with equal keys are
///    collected in the order of arrival.
///    A message of the purpose kLastWill is not kept for a thread, but for the end of the connection: if the
///    asker's process ends without taking it back by an empty one, the handler gets it as a question.
///  * a question about the state of this process: the listener's own thread answers it at once through a
///    handler, even while every other thread is busy or blocked. This distinguishes dead, stopped and slow
///    processes.
///  * a question for reports, which is small; ReportReaders says who needs no secret for it. It is answered
///    like other questions. The local socket serves nothing else, and there the user of this process and root
///    also get what opens the reports of the other processes of its jobs.
///
/// The listener answers with a verdict, and believes nothing before. Strangers, which have proven nothing
/// yet, are at most kMostStrangers and have kStrangerMs each; when there are more, the one that has been idle
/// longest is sent away. The log names who is rejected. Of more than kMostAdmitted admitted connections,
/// those are ended that rest longest between two messages. When more than kMostKept deliveries and messages
/// wait, the oldest is dropped. Thread-safe.
/// Tests: tests/net/listener_test.cc, tests/net/strangers_test.cc
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/bytes.h"
#include "src/base/clock.h"
#include "src/base/status.h"
#include "src/net/advertised.h"
#include "src/net/listener/report_readers.h"
#include "src/net/ports.h"
#include "src/net/tls/credentials.h"
#include "src/net/tls/peer_socket.h"

namespace weir {

/// Identifies one expected connection or message: communicator, purpose, sender and receiver.
struct DeliveryKey {
  uint64_t scope = 0;    ///< the communicator; the upper half is the job key
  uint32_t purpose = 0;  ///< chosen by the caller: bootstrap round, channel and stream number ...
  int32_t from = 0;      ///< rank that connects
  int32_t to = 0;        ///< rank that takes the connection
  int64_t life = 0;      ///< chosen by the caller: tells successive uses of an otherwise equal key apart

  auto operator<=>(const DeliveryKey&) const = default;
};

/// By what a process may read the reports of others.
struct ReportAccess {
  uint32_t job_key = 0;          ///< of a job of the other process; 0: none is known
  std::optional<Secret> secret;  ///< report_secret() of that job
};

class Listener {
 public:
  static constexpr uint32_t kLastWill = 0x3111'0000;  ///< purpose of a message
  static constexpr size_t kMostKept = 16384;
  static constexpr size_t kMostStrangers = 256;
  static constexpr int64_t kStrangerMs = 2000;
  static constexpr size_t kMostAdmitted = 4096;
  /// The largest size of a message, question or answer, in bytes.
  static constexpr uint32_t kMostBytes = 64u << 20;

  /// Answers a question about `scope` with bytes; scope 0: a question for reports, from anybody who may read
  /// them. An empty question: a message or a socket for that scope is lost, because there was no memory for
  /// it. Runs on the listener's thread: must not block.
  using Handler = std::function<Bytes(uint64_t scope, BytesView question)>;

  virtual ~Listener() = default;
  /// The address at which other processes reach this listener: the first of addresses(), used for everything
  /// but rails.
  virtual SocketAddress address() const = 0;
  /// All addresses of this listener, in the order in which they were passed to open().
  virtual const std::vector<SocketAddress>& addresses() const = 0;
  /// The connection delivered under `key`, if it has arrived. Never blocks.
  virtual std::optional<PeerSocket> collect(const DeliveryKey& key) = 0;
  /// Waits until `deadline` for the message under `key`; nullopt if none has arrived by then.
  virtual std::optional<Bytes> receive(const DeliveryKey& key, const Deadline& deadline) = 0;
  /// Stores a message as if it had arrived over a connection; for ranks of the same process.
  virtual void put(const DeliveryKey& key, Bytes message) = 0;
  /// Admits the processes of a job from now on; before, this listener believes none of them.
  virtual void admit(uint32_t job_key, const Credentials& credentials) = 0;
  /// What opens the reports of the processes of the admitted jobs; not to be shown to anybody.
  virtual std::vector<ReportAccess> report_access() const = 0;
  /// Drops uncollected and future deliveries and messages for rank `to` of `scope`.
  virtual void forget(uint64_t scope, int32_t to) = 0;

  /// Listens on `address` (port 0: any free port) and starts the thread. Destroying the listener ends the
  /// thread. Where it cannot be registered on its host it is found by its address only, and the log says so.
  /// REQUIRES: one address of this host, which proofs name, not the wildcard.
  static Result<std::unique_ptr<Listener>> open(const SocketAddress& address, Handler handler,
                                                ReportReaders readers = ReportReaders::user);
  /// Listens on several addresses, each at a port of `ports`; the ports of the addresses are ignored. Those
  /// of the listener are the ones that are `advertised` for them.
  /// REQUIRES: `addresses` is not empty.
  static Result<std::unique_ptr<Listener>> open(std::span<const SocketAddress> addresses,
                                                const PortRange& ports, Handler handler,
                                                ReportReaders readers = ReportReaders::user,
                                                const Advertisement& advertised = {});
};

/// Connects to a listener and delivers the connection under `key`. Does not wait until the peer collects it.
Result<PeerSocket> deliver(const SocketAddress& listener, const DeliveryKey& key,
                           const Credentials& credentials, const Deadline& deadline);

/// Sends a message. Success means that it was sent, not that it was collected. `meanwhile`, if any, is called
/// about every 20 ms while the listener does not accept it; an error of `meanwhile` ends the attempt and is
/// returned.
Status post(const SocketAddress& listener, const DeliveryKey& key, const Credentials& credentials,
            BytesView message, const Deadline& deadline, const std::function<Status()>& meanwhile = {});

/// The result of a question.
struct Answer {
  enum class Kind : uint8_t {
    given,      ///< `bytes` is the handler's answer
    refused,    ///< the connection was refused or broke: the process is gone
    silent,     ///< no answer in time: the process is stopped, or its host is unreachable
    unasked,    ///< this process could not ask: it has no descriptors or memory left
    forbidden,  ///< the reports of the process are not for this one
  };
  Kind kind = Kind::silent;
  Bytes bytes;
  std::string why;  ///< the reason, for error messages, unless `kind` is `given`
  /// With reports of a local process that has admitted this one by its user: what opens those of the other
  /// processes of its jobs.
  std::vector<ReportAccess> access;
};

/// Sends a question to a listener and waits for the answer.
Answer ask(const SocketAddress& listener, uint64_t scope, const Credentials& credentials, BytesView question,
           const Deadline& deadline);

/// Sends the same question to several listeners, at one moment to all that accept connections soon: none of
/// them acts on it long before the others have it. Returns the answers in the order of `listeners`.
std::vector<Answer> ask_all(std::span<const SocketAddress> listeners, uint64_t scope,
                            const Credentials& credentials, BytesView question, const Deadline& deadline);

/// A process whose reports are asked for.
struct ReportSource {
  SocketAddress listener;
  ReportAccess access;
  uint32_t most = Listener::kMostBytes;  ///< bytes of its answer; a longer one is refused
};
/// The secret that opens the reports of a job's processes, and nothing else.
Secret report_secret(const Secret& job);
/// Sends a question for reports to several listeners in parallel, like ask_all().
std::vector<Answer> ask_for_reports(std::span<const ReportSource> sources, BytesView question,
                                    const Deadline& deadline);

}  // namespace weir
