// SPDX-License-Identifier: Apache-2.0

#include "src/cli/http_server.h"

#include <fmt/format.h>
#include <poll.h>

#include <array>
#include <cstddef>

#include "src/base/clock.h"

namespace weir::cli {
namespace {

constexpr int64_t kClientTimeoutMs = 2000;
constexpr size_t kMostHead = 16 * 1024;  // bytes of a request
constexpr int64_t kIdleMs = 3'600'000;   // poll timeout without any connection

std::string answer(std::string_view status, std::string_view type, std::string_view body, bool with_body) {
  return fmt::format("HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
                     status, type, body.size(), with_body ? body : "");
}

/// Reads the request up to the empty line; returns an empty string if that does not arrive in time.
std::string read_head(const Socket& client) {
  const Deadline deadline = Deadline::in_ms(kClientTimeoutMs);
  std::string head;
  std::array<std::byte, 2048> bytes;
  while (head.size() < kMostHead && wait_for(client.fd(), POLLIN, deadline)) {
    const auto got = client.try_recv(bytes);
    if (!got.ok()) return "";
    head.append(reinterpret_cast<const char*>(bytes.data()), *got);
    if (const size_t end = head.find("\r\n\r\n"); end != std::string::npos) return head.substr(0, end);
  }
  return "";
}

}  // namespace

std::string http_answer(std::string_view head, std::string_view path,
                        const std::function<std::string()>& page) {
  constexpr std::string_view kText = "text/plain; charset=utf-8";
  const std::string_view line = head.substr(0, head.find("\r\n"));
  const size_t space = line.find(' ');
  const size_t end = line.rfind(" HTTP/1.");
  if (space == std::string_view::npos || end == std::string_view::npos || end <= space)
    return answer("400 Bad Request", kText, "expected an HTTP/1 request\n", true);
  const std::string_view method = line.substr(0, space);
  std::string_view target = line.substr(space + 1, end - space - 1);
  target = target.substr(0, target.find('?'));
  if (method != "GET" && method != "HEAD")
    return answer("405 Method Not Allowed", kText, "the method is not supported; expected GET or HEAD\n",
                  true);
  const bool with_body = method == "GET";
  if (target != path)
    return answer("404 Not Found", kText, fmt::format("no such page; expected {}\n", path), with_body);
  return answer("200 OK", "text/plain; version=0.0.4; charset=utf-8", page(), with_body);
}

Status serve_page(const Socket& listener, std::string_view path, const std::function<std::string()>& page) {
  for (;;) {
    if (!wait_for(listener.fd(), POLLIN, Deadline::in_ms(kIdleMs))) continue;
    const auto client = listener.accept();
    WEIR_TRY(client.status());
    if (!client->has_value()) continue;
    const std::string head = read_head(**client);
    if (head.empty()) continue;
    const std::string text = http_answer(head, path, page);
    // A client that closes its connection early does not stop the server.
    (void)(*client)->send_all(std::as_bytes(std::span(text)), Deadline::in_ms(kClientTimeoutMs));
  }
}

}  // namespace weir::cli
