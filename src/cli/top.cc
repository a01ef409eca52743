// SPDX-License-Identifier: Apache-2.0

#include "src/cli/top.h"

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <tuple>

#include "src/base/text.h"
#include "src/cli/call_factors.h"
#include "src/survey/stragglers.h"

namespace weir::cli {
namespace {

constexpr size_t kMostShown = 40;

/// One end of a channel, in one process.
using EndKey =
    std::tuple<std::string, Rank, Rank, uint32_t, bool>;  // communicator, rank, peer, number, sends

struct EndCount {
  std::string transport;
  uint64_t bytes = 0;
  uint64_t messages = 0;
  int64_t time_ns = 0;
};

std::map<EndKey, EndCount> ends_of(const std::vector<survey::QueriedProcess>& asked) {
  std::map<EndKey, EndCount> out;
  for (const survey::QueriedProcess& process : asked) {
    if (!process.report) continue;
    for (const core::CommunicatorReport& one : process.report->communicators) {
      for (const core::ChannelReport& channel : one.channels)
        out.try_emplace(
            {one.id, one.rank, channel.peer, channel.number, channel.sends},
            EndCount{channel.transport, channel.bytes, channel.messages, process.report->time_ns});
    }
  }
  return out;
}

/// A rank of a communicator in a sample.
struct RankCount {
  const core::CommunicatorReport* report = nullptr;
  int64_t time_ns = 0;
};

std::map<std::pair<std::string, Rank>, RankCount> ranks_of(const std::vector<survey::QueriedProcess>& asked) {
  std::map<std::pair<std::string, Rank>, RankCount> out;
  for (const survey::QueriedProcess& process : asked) {
    if (!process.report) continue;
    for (const core::CommunicatorReport& one : process.report->communicators)
      out.try_emplace({one.id, one.rank}, RankCount{&one, process.report->time_ns});
  }
  return out;
}

double seconds_between(const RankCount& before, const RankCount& after) {
  return std::max(static_cast<double>(after.time_ns - before.time_ns) / 1e9, 1e-9);
}

/// Calls per second of each communicator, of its fastest rank.
std::string call_lines(const std::vector<survey::QueriedProcess>& before,
                       const std::vector<survey::QueriedProcess>& after) {
  const auto was = ranks_of(before);
  std::map<std::string, double> calls;
  for (const auto& [key, now] : ranks_of(after)) {
    const auto found = was.find(key);
    if (found == was.end()) continue;
    const auto made = static_cast<double>(now.report->calls - found->second.report->calls);
    double& most = calls[key.first];
    most = std::max(most, made / seconds_between(found->second, now));
  }
  std::string out;
  for (const auto& [id, rate] : calls) out += fmt::format("communicator {}: {:.0f} calls/s\n", id, rate);
  return out;
}

/// A line for each link that has become slower than it was.
std::string slow_links_in(const std::vector<survey::QueriedProcess>& asked) {
  std::string out;
  for (const survey::QueriedProcess& process : asked) {
    if (!process.report) continue;
    for (const core::CommunicatorReport& one : process.report->communicators) {
      for (const core::LinkSpeed& link : one.links)
        if (link.slow) out += fmt::format("communicator {}: {}\n", one.id, core::describe(link, one.rank));
    }
  }
  return out;
}

/// A line for each communicator whose ranks pretend to be elsewhere.
std::string pretending_in(const std::vector<survey::QueriedProcess>& asked) {
  std::map<std::string, std::string> lines;
  for (const survey::QueriedProcess& process : asked) {
    if (!process.report) continue;
    for (const core::CommunicatorReport& one : process.report->communicators) {
      if (one.pretended.empty()) continue;
      lines.try_emplace(one.id,
                        fmt::format("communicator {} PRETENDS: its times are simulated, not measured; "
                                    "rank {} pretends to be {}\n",
                                    one.id, one.rank, one.pretended));
    }
  }
  std::string out;
  for (const auto& [id, line] : lines) out += line;
  return out;
}

/// A line for each rank with NaNs or infinities in its inputs.
std::string bad_values_in(const std::vector<survey::QueriedProcess>& asked) {
  std::string out;
  for (const survey::QueriedProcess& process : asked) {
    if (!process.report) continue;
    for (const core::CommunicatorReport& one : process.report->communicators) {
      if (one.bad_values == 0) continue;
      out += fmt::format("communicator {}: the input of rank {} had NaN or infinity in {} of {} calls\n",
                         one.id, one.rank, one.bad_values, one.calls);
    }
  }
  return out;
}

std::string table_of(const std::vector<CallRate>& rates) {
  if (rates.empty()) return "";
  std::string out = fmt::format("{:<16} {:<31} {:>12} {:>12} {:>12}\n", "communicator", "operation",
                                "calls/s", "bytes/s", "bytes");
  for (const CallRate& one : rates)
    out += fmt::format("{:<16} {:<31} {:>12.0f} {:>12} {:>12}\n", one.communicator, name(one.kind),
                       one.calls_per_s, bytes_words(one.bytes_per_s) + "/s", bytes_words(one.bytes));
  return out;
}

std::string table_of(const std::vector<LinkRate>& rates) {
  std::string out = fmt::format("{:<16} {:>5}    {:<5} {:<10} {:>8} {:>12} {:>12} {:>12}\n", "communicator",
                                "from", "to", "transport", "channels", "bytes/s", "messages/s", "bytes");
  for (const LinkRate& one : rates) {
    out += fmt::format("{:<16} {:>5} -> {:<5} {:<10} {:>8} {:>12} {:>12.0f} {:>12}\n", one.communicator,
                       one.from, one.to, one.transport, one.channels, bytes_words(one.bytes_per_s) + "/s",
                       one.messages_per_s, bytes_words(static_cast<double>(one.bytes)));
    if (&one - rates.data() + 1 == static_cast<ptrdiff_t>(kMostShown)) {
      out += fmt::format("and {} more\n", rates.size() - kMostShown);
      break;
    }
  }
  return out;
}

}  // namespace

std::vector<LinkRate> rates_between(const std::vector<survey::QueriedProcess>& before,
                                    const std::vector<survey::QueriedProcess>& after) {
  const auto was = ends_of(before);
  const auto is = ends_of(after);
  std::map<std::tuple<std::string, Rank, Rank, std::string>, LinkRate> links;
  for (const auto& [key, end] : is) {
    const auto& [id, rank, peer, number, sends] = key;
    if (!sends && is.contains({id, peer, rank, number, true})) continue;  // count the sender's end only
    const Rank from = sends ? rank : peer;
    const Rank to = sends ? peer : rank;
    if (from == to) continue;  // channel between lanes of one rank
    LinkRate& link = links[{id, from, to, end.transport}];
    link.communicator = id;
    link.from = from;
    link.to = to;
    link.transport = end.transport;
    ++link.channels;
    link.bytes += end.bytes;
    const auto found = was.find(key);
    if (found == was.end() || end.time_ns <= found->second.time_ns) continue;
    const double seconds = static_cast<double>(end.time_ns - found->second.time_ns) / 1e9;
    link.bytes_per_s += static_cast<double>(end.bytes - found->second.bytes) / seconds;
    link.messages_per_s += static_cast<double>(end.messages - found->second.messages) / seconds;
  }
  std::vector<LinkRate> out;
  for (auto& [key, link] : links) out.push_back(std::move(link));
  std::ranges::stable_sort(out, std::ranges::greater(), &LinkRate::bytes_per_s);
  return out;
}

std::vector<CallRate> calls_between(const std::vector<survey::QueriedProcess>& before,
                                    const std::vector<survey::QueriedProcess>& after) {
  const auto was = ranks_of(before);
  std::map<std::pair<std::string, int>, CallRate> calls;
  for (const auto& [key, now] : ranks_of(after)) {
    const auto found = was.find(key);
    for (int number = 0; number < kCollectives; ++number) {
      const core::Recorder::Count& count = now.report->counts[static_cast<size_t>(number)];
      if (count.begun == 0) continue;
      const auto kind = static_cast<Collective>(number);
      const double factor = size_factor(kind, now.report->ranks);
      CallRate own{key.first, kind, 0, 0, factor * static_cast<double>(count.bytes)};
      if (found != was.end()) {
        const core::Recorder::Count& before_it = found->second.report->counts[static_cast<size_t>(number)];
        const double seconds = seconds_between(found->second, now);
        own.calls_per_s = static_cast<double>(count.begun - before_it.begun) / seconds;
        own.bytes_per_s = factor * static_cast<double>(count.bytes - before_it.bytes) / seconds;
      }
      CallRate& most = calls[{key.first, number}];
      if (most.communicator.empty() || own.calls_per_s > most.calls_per_s) most = std::move(own);
    }
  }
  std::vector<CallRate> out;
  for (auto& [key, rate] : calls) out.push_back(std::move(rate));
  std::ranges::stable_sort(out, std::ranges::greater(), &CallRate::bytes_per_s);
  return out;
}

void add_top(CLI::App& app, TopArguments& arguments) {
  CLI::App* top =
      app.add_subcommand("top", "Show the current data rate of collectives, and between each pair of ranks");
  top->add_option("PID", arguments.request.pids,
                  "Process ids on this host; default: all processes that use weir");
  top->add_option("-i,--interval", arguments.seconds, "Interval between samples; s")
      ->check(CLI::Range(0.05, 3600.0))
      ->capture_default_str();
  top->add_flag("--once", arguments.once, "Print one table after one interval, then exit");
  top->footer(
      "Stop it with Ctrl-C. The first table has all operations, with their sizes as nccl-tests counts them, "
      "the second one what channels carry: collectives through shared memory (the fast paths) use none. Who "
      "was last to a collective is known of calls that all ranks have timed.");
}

int run_top(TopArguments arguments) {
  survey::Stragglers stragglers;
  std::vector<survey::QueriedProcess> before = survey::take(arguments.request);
  for (;;) {
    std::this_thread::sleep_for(std::chrono::duration<double>(arguments.seconds));
    std::vector<survey::QueriedProcess> after = survey::take(arguments.request);
    if (!arguments.once && isatty(STDOUT_FILENO) != 0) fmt::print("\033[H\033[2J");
    stragglers.add(after);
    fmt::print("{}{}{}{}{}{}{}", pretending_in(after), call_lines(before, after), bad_values_in(after),
               slow_links_in(after), stragglers.text(), table_of(calls_between(before, after)),
               table_of(rates_between(before, after)));
    std::fflush(stdout);
    if (arguments.once) return 0;
    before = std::move(after);
  }
}

}  // namespace weir::cli
