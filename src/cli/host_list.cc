// SPDX-License-Identifier: Apache-2.0

#include "src/cli/host_list.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "src/cli/words.h"

namespace weir::cli {
namespace {

constexpr int kMostRanks = 65536;

Status unfit(std::string sentence) { return {Code::invalid_argument, std::move(sentence)}; }

/// "a", "a:4" or "[fe80::1]:4"; 0 ranks: not given.
std::optional<HostRanks> read_host(std::string_view word) {
  HostRanks host;
  host.ranks = 0;
  const size_t closing = word.rfind(']');
  const size_t colon = word.find(':', closing == std::string_view::npos ? 0 : closing);
  std::string_view name = word.substr(0, colon);
  if (colon != std::string_view::npos) {
    const auto ranks = number(word.substr(colon + 1));
    if (!ranks || *ranks < 1 || *ranks > kMostRanks) return std::nullopt;
    host.ranks = *ranks;
  }
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  if (name.empty() || name.starts_with('-')) return std::nullopt;
  host.name = name;
  return host;
}

struct Address {
  std::string text;
  bool loopback = false;
};

/// The IPv4 address of a host, or else its IPv6 address in brackets; nullopt if its name is not known here.
std::optional<Address> address_of(const std::string& host) {
  const std::string name = host.substr(host.find('@') + 1);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return std::nullopt;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, freeaddrinfo);
  std::optional<Address> address;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (getnameinfo(one->ai_addr, one->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0)
      continue;
    const std::string_view digits = text.data();
    if (one->ai_family == AF_INET) return Address{std::string(digits), digits.starts_with("127.")};
    if (!address) address = Address{fmt::format("[{}]", digits), digits == "::1"};
  }
  return address;
}

}  // namespace

Result<std::vector<HostRanks>> read_hosts(std::string_view text, int ranks) {
  std::vector<HostRanks> hosts;
  int left = ranks, open = 0;
  for (const std::string& word : split(text, ',')) {
    const auto host = read_host(word);
    if (!host)
      return unfit(
          fmt::format("--hosts: \"{}\"; expected a host, or host:RANKS with 1 to {} ranks, such as "
                      "node1:4 or [fe80::1]:4",
                      word, kMostRanks));
    hosts.push_back(*host);
    left -= host->ranks;
    open += host->ranks == 0;
  }
  if (hosts.empty()) return unfit("--hosts is empty; expected hosts, such as node1:4,node2:4");
  if (ranks == 0) left = open;
  if (open == 0 ? left != 0 && ranks != 0 : left < open || left % open != 0)
    return unfit(fmt::format("-n is {}, but --hosts \"{}\" {}; expected -n to be their sum", ranks, text,
                             open == 0
                                 ? fmt::format("has {} ranks", ranks - left)
                                 : fmt::format("leaves {} ranks for {} hosts, in equal shares", left, open)));
  for (HostRanks& host : hosts)
    if (host.ranks == 0) host.ranks = left / open;
  return hosts;
}

Result<std::string> meeting_address(const std::vector<HostRanks>& hosts) {
  const auto first = address_of(hosts[0].name);
  if (!first)
    return unfit(
        fmt::format("--hosts: the address of {} is not known here; expected an address or a name "
                    "that is known, or --comm-id HOST:PORT with an address that all hosts reach",
                    hosts[0].name));
  const auto leaves = [](const HostRanks& host) {
    const auto address = address_of(host.name);
    return !address || !address->loopback;
  };
  if (first->loopback && std::ranges::any_of(hosts, leaves))
    return unfit(
        fmt::format("--hosts: {} has the address {} here, which other hosts do not reach; expected "
                    "an address that all hosts reach, in --hosts or in --comm-id HOST:PORT",
                    hosts[0].name, first->text));
  return first->text;
}

}  // namespace weir::cli
