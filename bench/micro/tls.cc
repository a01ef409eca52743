// SPDX-License-Identifier: Apache-2.0
// Cost of encryption: connections over loopback, plain and with TLS in turns, in one process with two
// threads. Medians of the rounds count; each line says what TLS makes of it.
//
//     build/bench/tls [ROUNDS]
#include <fmt/format.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "src/base/clock.h"
#include "src/net/tls/peer_socket.h"

namespace weir {
namespace {

using Context = std::shared_ptr<const TlsContext>;

constexpr size_t kBytesPerRound = 64 << 20;
constexpr int kMostMessages = 50'000;
constexpr int kPings = 2'000;
constexpr int kHandshakes = 100;

template <typename T>
T must(Result<T> result) {
  if (result.ok()) return std::move(*result);
  fmt::print(stderr, "{}\n", result.status().message());
  std::exit(1);
}
void must(const Status& status) { must(status.ok() ? Result<int>(0) : Result<int>(status)); }

Deadline soon() { return Deadline::in_ms(60'000); }

struct Pair {
  PeerSocket near, far;
};

/// A connection; with a context both ends agree on keys.
Pair connect(const Context& context) {
  static const Socket listener = must(Socket::listen(SocketAddress::loopback(AF_INET, 0)));
  Pair pair;
  pair.near = PeerSocket(must(Socket::connect(*listener.local_address(), soon())));
  wait_for(listener.fd(), POLLIN, soon());
  pair.far = PeerSocket(std::move(*must(listener.accept())));
  if (context == nullptr) return pair;
  must(pair.near.secure(context, TlsRole::connects));
  must(pair.far.secure(context, TlsRole::accepts));
  while (!(must(pair.near.ready()) & must(pair.far.ready()))) continue;
  return pair;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

double processor_s() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// What a round found.
struct Round {
  double seconds;
  double processor_seconds;  ///< of both threads
};

Round measure(const std::function<void()>& work) {
  const double before = processor_s();
  const int64_t begin = now_ns();
  work();
  return {static_cast<double>(now_ns() - begin) * 1e-9, processor_s() - before};
}

/// Streams messages in one direction, each with a header of its own, as channels do.
Round stream(const Context& context, size_t size) {
  Pair pair = connect(context);
  const size_t messages = std::min<size_t>(kBytesPerRound / size, kMostMessages);
  const Bytes header(32), message(size);
  return measure([&] {
    std::thread receiver([&] {
      Bytes into(1 << 20);
      for (size_t left = messages * (size + header.size()); left > 0;) {
        const size_t got = must(pair.far.try_receive(std::span(into).first(std::min(left, into.size()))));
        if (got == 0 && !pair.far.pending()) wait_for(pair.far.socket().fd(), POLLIN, soon());
        left -= got;
      }
    });
    for (size_t sent = 0; sent < messages; ++sent) {
      for (size_t at = 0; at < header.size() + size;) {
        const size_t in_header = std::min(at, header.size());
        const BytesView rest[2] = {BytesView(header).subspan(in_header),
                                   BytesView(message).subspan(at - in_header)};
        const iovec parts[2] = {{const_cast<std::byte*>(rest[0].data()), rest[0].size()},
                                {const_cast<std::byte*>(rest[1].data()), rest[1].size()}};
        const size_t more = must(pair.near.try_send(parts));
        if (more == 0) wait_for(pair.near.socket().fd(), POLLOUT, soon());
        at += more;
      }
    }
    while (!must(pair.near.flush())) wait_for(pair.near.socket().fd(), POLLOUT, soon());
    receiver.join();
  });
}

/// 8 bytes there and back again.
Round ping(const Context& context) {
  Pair pair = connect(context);
  Bytes there(8), back(8);
  return measure([&] {
    std::thread echo([&] {
      for (int i = 0; i < kPings; ++i) {
        must(receive_all(pair.far, there, soon()));
        must(send_all(pair.far, there, soon()));
      }
    });
    for (int i = 0; i < kPings; ++i) {
      must(send_all(pair.near, back, soon()));
      must(receive_all(pair.near, back, soon()));
    }
    echo.join();
  });
}

Round handshakes(const Context& context) {
  return measure([&] {
    for (int i = 0; i < kHandshakes; ++i) connect(context);
  });
}

/// Certificates by the program openssl; null where it is missing.
Context certificate_context() {
  std::string folder = (std::filesystem::temp_directory_path() / "weir-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return nullptr;
  const std::string made = fmt::format(
      "cd {} && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key -out cert "
      "-subj /CN=bench -days 1 >/dev/null 2>&1",
      folder);
  TlsSettings settings;
  settings.mode = TlsSettings::Mode::cert;
  settings.certificate_file = settings.authority_file = folder + "/cert";
  settings.key_file = folder + "/key";
  const bool is_made = std::system(made.c_str()) == 0;
  Context context = is_made ? must(TlsContext::make(settings)) : nullptr;
  std::filesystem::remove_all(folder);
  return context;
}

using Run = std::function<Round(const Context&)>;

/// Runs plain and encrypted connections in turns, and prints a line. `scale` turns seconds into the unit.
void compare(const std::string& what, const char* unit, const Context& context, int rounds, const Run& run,
             const std::function<double(double)>& scale) {
  std::array<std::vector<double>, 2> times, processor;
  for (int round = -1; round < rounds; ++round) {
    for (const size_t kind : {0, 1}) {
      const Round found = run(kind == 0 ? nullptr : context);
      if (round < 0) continue;  // warms up
      times[kind].push_back(found.seconds);
      processor[kind].push_back(found.processor_seconds);
    }
  }
  const double plain = scale(median(times[0])), encrypted = scale(median(times[1]));
  fmt::print("{:34} {:>9.2f} {:>9.2f} {:5} {:>7.2f} {:>9.2f}\n", what, plain, encrypted, unit,
             encrypted / plain, median(processor[1]) / median(processor[0]));
  std::fflush(stdout);
}

int run(int rounds) {
  const Context secret = must(TlsContext::make(must(TlsSettings::with_secret(Bytes(32)))));
  const Context certificates = certificate_context();
  fmt::print("{:34} {:>9} {:>9} {:5} {:>7} {:>9}\n", "over loopback", "plain", "TLS", "", "ratio",
             "processor");
  for (const size_t size :
       {size_t{64}, size_t{4} << 10, size_t{64} << 10, size_t{256} << 10, size_t{1} << 20}) {
    const size_t messages = std::min<size_t>(kBytesPerRound / size, kMostMessages);
    compare(
        fmt::format("stream of messages of {} B", size), "GB/s", secret, rounds,
        [&](const Context& context) { return stream(context, size); },
        [&](double seconds) { return static_cast<double>(messages * (size + 32)) / seconds * 1e-9; });
  }
  compare("8 B, half a round trip", "us", secret, rounds, ping,
          [](double seconds) { return seconds * 1e6 / kPings / 2; });
  const auto per_connection = [](double seconds) { return seconds * 1e6 / kHandshakes; };
  compare("connection with a secret", "us", secret, rounds, handshakes, per_connection);
  if (certificates == nullptr)
    fmt::print("connection with certificates: not measured, the program openssl is missing\n");
  else
    compare("connection with certificates", "us", certificates, rounds, handshakes, per_connection);
  return 0;
}

}  // namespace
}  // namespace weir

int main(int count, char** words) { return weir::run(count > 1 ? std::max(1, std::atoi(words[1])) : 5); }
