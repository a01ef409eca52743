// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/newcomer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <sstream>
#include <thread>

namespace weir::trainer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kSearchesFor = std::chrono::seconds(60);
constexpr auto kFirstTry = std::chrono::seconds(3);  ///< at one address; later ones take longer
constexpr auto kLongestTry = std::chrono::seconds(15);

GivesUp never() {
  return [] { return false; };
}

GivesUp until(Clock::time_point end) {
  return [end] { return Clock::now() > end; };
}

/// Two newcomers that meet at a listener disturb each other.
void pause_at_random() {
  thread_local std::minstd_rand random{std::random_device{}()};
  std::this_thread::sleep_for(std::chrono::milliseconds(50 + random() % 400));
}

/// Lets the listener compare the options; adds the addresses that it names.
Status introduce(PeerLink& link, const std::string& options, std::vector<std::string>& addresses) {
  const GivesUp gives_up = until(Clock::now() + kSearchesFor);
  const uint64_t size = options.size();
  WEIR_TRY(link.send(&size, sizeof size, gives_up));
  WEIR_TRY(link.send(options.data(), size, gives_up));
  Verdict verdict;
  WEIR_TRY(link.receive(&verdict, sizeof verdict, gives_up));
  verdict.text[sizeof verdict.text - 1] = 0;
  if (verdict.accepted == 0)
    return Status(Code::invalid_argument,
                  fmt::format("the job refuses this process, which was started with other options: {}; "
                              "expected the same as in the job",
                              static_cast<const char*>(verdict.text)));
  for (const std::string& other : addresses_in(verdict.text))
    if (std::ranges::find(addresses, other) == addresses.end()) addresses.push_back(other);
  return link.wait_long();
}

/// Answers until there is something else to do.
Result<Call> wait_for_call(PeerLink& link) {
  for (;;) {
    Call call;
    WEIR_TRY(link.receive(&call, sizeof call, never()));
    if (call.kind != Call::check) return call;
    const int32_t there = 1;
    WEIR_TRY(link.send(&there, sizeof there, until(Clock::now() + kSearchesFor)));
  }
}

}  // namespace

std::vector<std::string> addresses_in(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');)
    if (!word.empty()) found.push_back(word);
  return found;
}

Result<std::optional<Call>> wait_to_join(std::vector<std::string> addresses, const std::string& options) {
  auto end = Clock::now() + kSearchesFor;
  Clock::duration timeout = kFirstTry;
  Status last(Code::invalid_argument, "no address is given");
  for (size_t next = 0; !addresses.empty(); ++next) {
    auto link = PeerLink::open(addresses[next % addresses.size()], 1, until(Clock::now() + timeout));
    last = link.status();
    if (link.ok()) last = introduce(*link, options, addresses);
    if (last.code() == Code::invalid_argument) return last;
    if (last.ok()) {
      const auto call = wait_for_call(*link);
      if (call.ok()) return call->kind == Call::join ? std::optional(*call) : std::nullopt;
      last = call.status();
      end = Clock::now() + kSearchesFor;
      timeout = kFirstTry;
    }
    if (Clock::now() > end) break;
    if ((next + 1) % addresses.size() == 0) timeout = std::min<Clock::duration>(2 * timeout, kLongestTry);
    pause_at_random();
  }
  return Status(last.code() == Code::in_progress ? Code::remote_error : last.code(),
                fmt::format("no process of a job lets others join at {}: {}", fmt::join(addresses, ", "),
                            last.message()));
}

}  // namespace weir::trainer
