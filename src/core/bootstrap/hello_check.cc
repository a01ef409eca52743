// SPDX-License-Identifier: Apache-2.0

#include "src/core/bootstrap/hello_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/core/bootstrap/shares.h"

namespace weir::core {
namespace {

using root_wire::Hello;

std::string name_of_rank(const Hello& hello) { return hello.peer.describe(hello.rank); }

Status check_alone(const Hello& hello, TlsSettings::Mode encryption) {
  if (hello.protocol != root_wire::kProtocol) {
    return Status(
        Code::invalid_usage,
        fmt::format(
            "{} runs another version of weir (it uses bootstrap protocol {}, the root uses {}); all ranks "
            "must load the same library",
            name_of_rank(hello), hello.protocol, root_wire::kProtocol));
  }
  if (hello.ranks < 1 || hello.ranks > root_wire::kMostRanks || hello.rank < 0 || hello.rank >= hello.ranks) {
    return Status(Code::invalid_argument,
                  fmt::format("{} has nranks {}; expected 0 <= rank < nranks <= {}", name_of_rank(hello),
                              hello.ranks, root_wire::kMostRanks));
  }
  if (hello.roots < 1 || hello.roots > hello.ranks ||
      hello.root != root_of(hello.rank, hello.roots, hello.ranks)) {
    return Status(
        Code::invalid_argument,
        fmt::format("{} of {} came as one of the root of unique id {} of {}; expected the root that "
                    "serves its rank",
                    name_of_rank(hello), hello.ranks, hello.root + 1, hello.roots));
  }
  const bool only_says_why =
      hello.purpose == root_wire::Purpose::declines && hello.encryption == TlsSettings::Mode::off;
  if (hello.encryption != encryption && !only_says_why) {
    return Status(Code::invalid_usage,
                  fmt::format("{} has WEIR_TLS={}, the root has WEIR_TLS={}; expected the same on all ranks",
                              name_of_rank(hello), name_of(hello.encryption), name_of(encryption)));
  }
  return {};
}

Status check_list(const Hello& hello, const Hello& other) {
  if (hello.roots != other.roots) {
    return Status(Code::invalid_usage,
                  fmt::format("the ranks disagree on the number of unique ids (nId): {} has {}, {} has {}; "
                              "expected the same ids on all",
                              name_of_rank(hello), hello.roots, name_of_rank(other), other.roots));
  }
  if (hello.list == other.list) return {};
  return Status(Code::invalid_usage, fmt::format("{} and {} have different lists of {} unique ids; expected "
                                                 "the same ids in the same order on all ranks",
                                                 name_of_rank(hello), name_of_rank(other), hello.roots));
}

Status check_twin(const Hello& hello, const Hello* twin) {
  if (twin == nullptr) return {};
  return Status(
      Code::invalid_usage,
      fmt::format("two processes or threads joined as rank {}: pid {} on host {} and pid {} on host {}",
                  hello.rank, twin->peer.pid, twin->peer.hostname, hello.peer.pid, hello.peer.hostname));
}

Status check_reach(const Hello& hello, const Hello& other) {
  const bool loopback = hello.peer.listener.is_loopback() || other.peer.listener.is_loopback();
  if (!loopback || hello.peer.hostname == other.peer.hostname) return {};
  const Hello& hidden = hello.peer.listener.is_loopback() ? hello : other;
  return Status(
      Code::invalid_usage,
      fmt::format("{} listens at {}, which only its own host can reach, but there are ranks on other hosts; "
                  "set NCCL_SOCKET_IFNAME to an interface that all hosts can reach",
                  name_of_rank(hidden), hidden.peer.listener.text()));
}

}  // namespace

Status check_hello(const Hello& hello, const std::vector<const Hello*>& known, TlsSettings::Mode encryption) {
  WEIR_TRY(check_alone(hello, encryption));
  const auto other = std::ranges::find_if(known, [](const Hello* one) { return one != nullptr; });
  if (other == known.end()) return {};
  if (static_cast<size_t>(hello.ranks) != known.size()) {
    return Status(Code::invalid_usage,
                  fmt::format("the ranks disagree on nranks: {} has {}, {} has {}; expected the same on all",
                              name_of_rank(hello), hello.ranks, name_of_rank(**other), (*other)->ranks));
  }
  WEIR_TRY(check_list(hello, **other));
  if (hello.purpose == root_wire::Purpose::relays) return {};
  WEIR_TRY(check_twin(hello, known[static_cast<size_t>(hello.rank)]));
  return check_reach(hello, **other);
}

std::string list_missing(const std::vector<const Hello*>& known) {
  constexpr size_t kMostRuns = 8;
  std::vector<std::string> runs;
  for (size_t first = 0; first < known.size(); ++first) {
    if (known[first] != nullptr) continue;
    size_t last = first;
    while (last + 1 < known.size() && known[last + 1] == nullptr) ++last;
    runs.push_back(first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last));
    first = last;
  }
  if (runs.size() > kMostRuns) {
    runs.resize(kMostRuns);
    runs.emplace_back("more");
  }
  return fmt::format("{}", fmt::join(runs, ", "));
}

}  // namespace weir::core
