// SPDX-License-Identifier: Apache-2.0
/// A connection that has come to a listener, over TCP or its local socket, from the challenge to the last
/// byte of the answer, or to the last of its messages.
///
/// Until its hello is proven it is a stranger, for which nothing is kept but a hello of fixed size. The
/// memory of a body grows with the bytes that have arrived, not with the size that was announced. Where the
/// job's connections are encrypted, TLS begins behind the verdict, bound to the proof of the hello.
///
/// Not thread-safe. Nothing blocks.
/// Tests: tests/net/listener_test.cc, tests/net/strangers_test.cc
#pragma once

#include <poll.h>

#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "src/net/listener/admitted_jobs.h"
#include "src/net/listener/listener_wire.h"
#include "src/net/tls/peer_socket.h"

namespace weir {

class IncomingConnection {
 public:
  enum class Step : uint8_t {
    waits,     ///< more bytes have to come or to go
    complete,  ///< the hello is admitted, and a body has arrived: take it, then answer() or rest()
    over,      ///< close the connection; rejection() is the reason, if it is worth a line
  };
  /// Whether the process at the other end may read reports; `proven`: it has shown a secret for them.
  using MayRead = std::function<bool(const Socket& socket, bool proven)>;

  /// Sends the challenge. `listener` is the address at which the connection arrived; the default one: at the
  /// local socket, which is for readers of reports only.
  IncomingConnection(Socket socket, const SocketAddress& listener, int64_t now_ns);

  /// Reads and writes what is possible.
  Step advance(const AdmittedJobs& jobs, const MayRead& may_read);
  /// Sends an answer; advance() sends the rest. REQUIRES: advance() gave `complete`.
  void answer(BytesView bytes);
  /// Waits for a further message, without a time limit. REQUIRES: advance() gave `complete` for a message.
  void rest();
  /// What its end means, if the other side ends it: a question to the handler; an empty one: nothing.
  void set_last_will(uint64_t scope, Bytes question) { last_will_ = {scope, std::move(question)}; }
  const std::pair<uint64_t, Bytes>& last_will() const { return last_will_; }

  const Socket& socket() const { return socket_.socket(); }
  /// What to poll the socket for before advance() can make progress, unless pending() says that it can.
  short waits_for() const { return socket_.events(answers() ? POLLOUT : POLLIN); }
  bool pending() const { return socket_.pending(); }
  /// Ends the connection so that the other side sees a failure, not an end in order.
  void reset() { socket_.reset(); }
  /// A reader of reports that are for everybody stays one, since it has proven nothing.
  bool is_stranger() const { return stage_ == Stage::hello || !trusted_; }
  /// Between two messages.
  bool rests() const { return stage_ == Stage::header && received_ == 0; }
  bool is_local() const { return !listener_.valid(); }
  bool answers() const { return !out_.empty(); }
  /// When it came, or when its current message began.
  int64_t since_ns() const { return since_ns_; }
  std::string_view rejection() const { return rejection_; }
  /// The hello, with the key of the current message. REQUIRES: advance() gave `complete`.
  const listener_wire::Hello& hello() const { return *hello_; }
  /// The scope for which it brings, or begins, something that nobody sends again; 0: none.
  uint64_t brings_for() const;
  Bytes& body() { return in_; }
  PeerSocket take_socket() { return std::move(socket_); }

 private:
  /// What it reads.
  enum class Stage : uint8_t { hello, body, header };

  Step read(const AdmittedJobs& jobs, const MayRead& may_read);
  Step write();
  Step refuse_tls();
  bool understand(const AdmittedJobs& jobs, const MayRead& may_read);
  bool understand_header();
  bool judge(const AdmittedJobs& jobs, const MayRead& may_read);
  bool secure(const Credentials& credentials);
  bool say(BytesView bytes);
  void make_room();
  size_t expected() const;

  PeerSocket socket_;
  const SocketAddress listener_;
  int64_t since_ns_;
  Challenge challenge_;
  std::optional<listener_wire::Hello> hello_;
  Stage stage_ = Stage::hello;
  bool trusted_ = false;  ///< it has a secret of a job, or belongs to the own user
  Bytes in_;
  size_t received_ = 0;
  Bytes out_;
  size_t sent_ = 0;
  std::string_view rejection_;
  std::pair<uint64_t, Bytes> last_will_;  ///< scope and question
};

}  // namespace weir
