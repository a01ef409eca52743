// SPDX-License-Identifier: Apache-2.0

#include "src/cli/metrics.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "src/cli/call_factors.h"
#include "src/cli/failure.h"
#include "src/cli/http_server.h"

namespace weir::cli {
namespace {

using core::CommunicatorReport;
using core::OperationReport;
using core::ProcessReport;

/// Escapes the value of a label.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

std::string label(std::string_view name, std::string_view value) {
  return fmt::format("{}=\"{}\"", name, escaped(value));
}

/// All series of one metric name, after its HELP and TYPE lines.
class Family {
 public:
  Family(std::string_view name, std::string_view type, std::string_view help)
      : name_(name), head_(fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type)) {}

  template <typename Value>
  void add(std::string_view labels, Value value) {
    series_ += fmt::format("{}{{{}}} {}\n", name_, labels, value);
  }
  std::string text() const { return series_.empty() ? "" : head_ + series_; }

 private:
  const std::string name_;
  const std::string head_;
  std::string series_;
};

/// Number of hosts of each communicator, by its id.
std::map<std::string, size_t> nodes_of(const ProcessReport& process) {
  std::map<std::string, size_t> out;
  for (const CommunicatorReport& one : process.communicators) {
    std::set<std::string_view> hosts;
    for (const core::PeerAddress& member : one.members) hosts.insert(member.hostname);
    if (!hosts.empty()) out[one.id] = hosts.size();
  }
  return out;
}

/// All metric families, filled process by process.
class Metrics {
 public:
  explicit Metrics(const survey::Stragglers& stragglers) : stragglers_(stragglers) {}

  /// Processes that keep their reports for themselves are none of this user's.
  void add(const survey::QueriedProcess& process) {
    if (process.report_state != survey::ReportState::shown) return;
    if (!processes_.insert({process.host, process.pid}).second) return;
    const std::string labels =
        label("hostname", process.host) + "," + label("pid", std::to_string(process.pid));
    up_.add(labels, process.report ? 1 : 0);
    if (!process.report) return;
    const auto nodes = nodes_of(*process.report);
    for (const CommunicatorReport& one : process.report->communicators) {
      // Another user may claim to be the same rank; a series that comes twice would invalidate all.
      if (!ranks_.insert({one.id, one.rank}).second) continue;
      const auto known = nodes.find(one.id);
      add(*process.report, one, known == nodes.end() ? 0 : known->second);
    }
  }
  std::string text() const {
    std::string out;
    for (const Family* family :
         {&up_, &state_, &waiting_, &calls_, &begun_, &ended_, &bytes_, &carried_, &messages_, &bad_values_,
          &speed_, &past_speed_, &slow_, &time_, &algorithm_, &bus_, &last_calls_, &last_seconds_})
      out += family->text();
    return out;
  }

 private:
  void add(const ProcessReport& process, const CommunicatorReport& one, size_t nodes) {
    const std::string labels =
        fmt::format("{},{},{},{},{}", label("comm_id", "0x" + one.id), label("comm_name", one.name),
                    label("hostname", process.hostname), label("rank", std::to_string(one.rank)),
                    label("nranks", std::to_string(one.ranks)));
    state_.add(labels + "," + label("state", core::name(one.state)), 1);
    for (const Rank peer : one.waiting_for)
      waiting_.add(labels + "," + label("peer", std::to_string(peer)),
                   static_cast<double>(one.waiting_ns) / 1e9);
    calls_.add(labels, one.calls);
    if (one.bad_values > 0) bad_values_.add(labels, one.bad_values);
    for (int kind = 0; kind < kCollectives; ++kind) {
      const core::Recorder::Count& count = one.counts[static_cast<size_t>(kind)];
      if (count.begun == 0) continue;
      const std::string which = labels + "," + label("collective", name(static_cast<Collective>(kind)));
      begun_.add(which, count.begun);
      ended_.add(which, count.ended);
      bytes_.add(which, count.bytes);
    }
    const auto last = stragglers_.total(one.id);
    if (const auto own = last.find(one.rank); own != last.end()) {
      last_calls_.add(labels, own->second.calls);
      last_seconds_.add(labels, static_cast<double>(own->second.behind_ns) / 1e9);
    }
    add_channels(labels, one);
    add_links(labels, one);
    add_times(labels, one, nodes);
  }

  /// Adds the sum over all channels to a peer over one transport.
  void add_channels(const std::string& labels, const CommunicatorReport& one) {
    std::map<std::tuple<Rank, std::string, bool>, std::pair<uint64_t, uint64_t>> sums;
    for (const core::ChannelReport& channel : one.channels) {
      if (channel.peer == one.rank) continue;
      auto& [bytes, messages] = sums[{channel.peer, channel.transport, channel.sends}];
      bytes += channel.bytes;
      messages += channel.messages;
    }
    for (const auto& [key, sum] : sums) {
      const auto& [peer, transport, sends] = key;
      const std::string which =
          fmt::format("{},{},{},{}", labels, label("peer", std::to_string(peer)),
                      label("transport", transport), label("direction", sends ? "sent" : "received"));
      carried_.add(which, sum.first);
      messages_.add(which, sum.second);
    }
  }

  void add_links(const std::string& labels, const CommunicatorReport& one) {
    for (const core::LinkSpeed& link : one.links) {
      const std::string which = fmt::format("{},{},{}", labels, label("peer", std::to_string(link.peer)),
                                            label("transport", link.transport));
      speed_.add(which, link.bytes_per_s);
      if (link.past_bytes_per_s > 0) past_speed_.add(which, link.past_bytes_per_s);
      slow_.add(which, link.slow ? 1 : 0);
    }
  }

  /// Adds, for each collective, the time of the latest operation that was timed.
  void add_times(const std::string& labels, const CommunicatorReport& one, size_t nodes) {
    std::set<Collective> told;
    for (auto at = one.recent.rbegin(); at != one.recent.rend(); ++at) {
      const bool timed = at->ended && at->exact && at->took_ns > 0 && one.ranks > 0;
      if (!timed || !told.insert(at->operation.kind()).second) continue;
      const std::string which = fmt::format("{},{},{}", labels, label("n_nodes", std::to_string(nodes)),
                                            label("collective", name(at->operation.kind())));
      const Collective kind = at->operation.kind();
      const double size = static_cast<double>(at->operation.bytes()) * size_factor(kind, one.ranks);
      const double rate = size / static_cast<double>(at->took_ns);
      time_.add(which, static_cast<double>(at->took_ns) / 1e3);
      algorithm_.add(which, rate);
      bus_.add(which, rate * bus_factor(kind, one.ranks));
    }
  }

  const survey::Stragglers& stragglers_;
  std::set<std::pair<std::string, int32_t>> processes_;  ///< that were added, by host and number
  std::set<std::pair<std::string, Rank>> ranks_;         ///< the same, by communicator
  Family up_{"weir_process_up", "gauge", "1: the process answered; 0: it is dead, stopped or unreachable"};
  Family state_{"weir_rank_state", "gauge", "1 for the current state of the rank's communicator"};
  Family waiting_{"weir_rank_waiting_seconds", "gauge",
                  "Seconds without progress while the rank waits for this peer"};
  Family calls_{"weir_calls_total", "counter", "Number of calls that the rank has begun"};
  Family begun_{"weir_operations_begun_total", "counter", "Number of operations that the rank has begun"};
  Family ended_{"weir_operations_ended_total", "counter", "Number of operations that have ended on the rank"};
  Family bytes_{"weir_operation_bytes_total", "counter",
                "Bytes in the buffers of the operations that the rank has begun"};
  Family carried_{"weir_channel_bytes_total", "counter",
                  "Bytes sent to this peer (or received from it) over this transport"};
  Family messages_{"weir_channel_messages_total", "counter",
                   "Messages sent to this peer (or received from it) over this transport"};
  Family bad_values_{"weir_bad_value_calls_total", "counter",
                     "Calls with a NaN or an infinity in the rank's input, where WEIR_CHECK_VALUES looks"};
  Family speed_{"weir_link_speed_bytes_per_second", "gauge",
                "Speed of the link to this peer of late, while it was at work"};
  Family past_speed_{"weir_link_past_speed_bytes_per_second", "gauge",
                     "The same in its past, in calls alike"};
  Family slow_{"weir_link_slow", "gauge", "1: the link is durably slower than in its past"};
  Family time_{"nccl_collective_exec_time_microseconds", "gauge",
               "Time of the latest collective of this kind that was timed, in microseconds"};
  Family algorithm_{"nccl_algorithm_bandwidth_gbs", "gauge",
                    "Algorithm bandwidth of that collective in GB/s, as nccl-tests defines it"};
  Family bus_{"nccl_bus_bandwidth_gbs", "gauge",
              "Bus bandwidth of that collective in GB/s, as nccl-tests defines it"};
  Family last_calls_{"weir_rank_last_calls_total", "counter",
                     "Number of collectives to which the rank came last, of those that all ranks have timed"};
  Family last_seconds_{"weir_rank_last_seconds_total", "counter",
                       "Time by which it came after the median of the others to these, in seconds"};
};

/// A port alone means an address of this host that other hosts cannot reach.
Result<SocketAddress> address_of(const std::string& text) {
  const bool is_port = text.find_first_not_of("0123456789") == std::string::npos;
  return SocketAddress::parse(is_port ? "127.0.0.1:" + text : text);
}

/// Renames a temporary file, so that a reader sees either the old text or the new one.
Status replace(const std::string& path, const std::string& text) {
  const std::string beside = path + ".new";
  std::ofstream file(beside);
  file << text;
  file.close();
  if (file && std::rename(beside.c_str(), path.c_str()) == 0) return {};
  const int error = errno;
  std::remove(beside.c_str());
  return {Code::system_error, fmt::format("{} cannot be written: {}", path, std::strerror(error))};
}

}  // namespace

std::string metrics_of(const std::vector<survey::QueriedProcess>& asked,
                       const survey::Stragglers& stragglers) {
  Metrics metrics(stragglers);
  for (const survey::QueriedProcess& process : asked) metrics.add(process);
  return metrics.text();
}

void add_metrics(CLI::App& app, MetricsArguments& arguments) {
  CLI::App* metrics =
      app.add_subcommand("metrics", "Print the state of this host's communicators as metrics for Prometheus");
  metrics->add_option("PID", arguments.request.pids,
                      "Process ids on this host; default: all processes that use weir");
  CLI::Option* const listen = metrics->add_option(
      "-l,--listen", arguments.listen,
      "Serve GET /metrics at PORT (loopback interface only) or ADDRESS:PORT until interrupted");
  metrics
      ->add_option("-o,--out", arguments.out,
                   "Write the metrics to this file, for node_exporter's textfile collector")
      ->excludes(listen);
  metrics->footer("Only processes of this host are queried; run the command on each host.");
}

int run_metrics(MetricsArguments arguments) {
  arguments.request.elsewhere = false;
  survey::Stragglers stragglers;
  const auto page = [&] {
    const auto asked = survey::take(arguments.request);
    stragglers.add(asked);
    return metrics_of(asked, stragglers);
  };
  if (arguments.listen.empty()) {
    if (arguments.out.empty()) {
      fmt::print("{}", page());
      return 0;
    }
    const Status written = replace(arguments.out, page());
    return written.ok() ? 0 : report_failure("metrics", written, 1);
  }
  const auto address = address_of(arguments.listen);
  if (!address.ok()) return report_failure("metrics", address.status(), 1);
  const auto listener = Socket::listen(*address);
  if (!listener.ok()) return report_failure("metrics", listener.status(), 1);
  const auto own = listener->local_address();
  fmt::print("serving metrics at http://{}/metrics\n", own.ok() ? own->text() : address->text());
  std::fflush(stdout);
  return report_failure("metrics", serve_page(*listener, "/metrics", page), 1);
}

}  // namespace weir::cli
