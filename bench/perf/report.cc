// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bench/perf/text.h"

namespace weir::perf {
namespace {

/// The release of nccl-tests whose options and columns are used.
constexpr const char* kFaceVersion = "2.19.6";
constexpr int kJsonVersion = 3;

template <typename... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
  fmt::print(stdout, format, std::forward<Args>(args)...);
}

std::string step_text(const PerfOptions& o) {
  return o.step_factor > 1 ? fmt::format("{}(factor)", o.step_factor)
                           : fmt::format("{}(bytes)", o.step_bytes);
}

/// Texts of the columns of --net-stats.
using NetTexts = std::array<std::string, 7>;

std::string net_columns(const NetTexts& t) {
  return fmt::format("  {:>9}  {:>7}  {:>7}  {:>8}  {:>7}  {:>7}  {:>7}", t[0], t[1], t[2], t[3], t[4], t[5],
                     t[6]);
}

/// Texts of the columns of --limit.
std::string limit_columns(const char* time, const char* reached) {
  return fmt::format("  {:>8}  {:>6}  {:>8}  {:>6}", time, reached, time, reached);
}

std::string net_row(const NetStats& net) {
  const auto count = [&net](NetStat which) { return fmt::format("{:.0f}", net[which]); };
  return net_columns({fit(net[NetStat::sent_bytes] / 1e6, 9), count(NetStat::grants), count(NetStat::stalls),
                      fit(net[NetStat::stalled_ns] / 1e6, 8), count(NetStat::retransmitted_segments),
                      count(NetStat::dropped_packets), count(NetStat::port_retries)});
}

/// A line about a job of weir that pretends to run on another cluster; `where` may be null.
std::string pretended_words(const char* where) {
  if (where == nullptr || *where == '\0') return "";
  const char* const scale = std::strrchr(where, '@');
  return fmt::format("# PRETENDS to run on {} (WEIR_PRETEND): times are simulated, not measured{}\n", where,
                     scale != nullptr ? fmt::format(", and multiplied by {}", scale + 1) : "");
}

}  // namespace

Report::Report(std::string program, const PerfOptions& options, int argc, char** argv)
    : program_(std::move(program)), options_(options) {
  if (options.output_file.empty()) return;
  json_ = JsonWriter::open(options.output_file);
  if (!json_) {
    print("# cannot write JSON to {}: {}\n", options.output_file, strerror(errno));
    return;
  }
  print("# Writing JSON output to {}\n", json_->path());
  json_->begin_object();
  json_->key("version").value(kJsonVersion);
  json_->key("start_time").value(now_text());
  json_->key("args").begin_list();
  for (int i = 0; i < argc; ++i) json_->value(argv[i]);
  json_->end();
  json_->key("env").begin_list();
  for (char** variable = environ; *variable != nullptr; ++variable) json_->value(*variable);
  json_->end();
}

Report::~Report() {
  if (json_) json_->end_all();
}

void Report::begin(const std::vector<RankInfo>& ranks, int library_version) {
  const PerfOptions& o = options_;
  print("# nccl-tests version {} nccl-headers={} nccl-library={}\n", kFaceVersion, NCCL_VERSION_CODE,
        library_version);
  print("# Collective test starting: {}\n", program_);
  print("{}", pretended_words(std::getenv("WEIR_PRETEND")));
  print(
      "# nThread {} nGpus {} minBytes {} maxBytes {} step: {} warmup iters: {} iters: {} agg iters: {} "
      "validation: {} "
      "graph: {} unalign: {}\n",
      o.threads, o.gpus, o.min_bytes, o.max_bytes, step_text(o), o.warmup, o.iterations, o.aggregated,
      o.checks, o.graph, o.unalign);
  if (o.blocking != 0)
    print("# Blocking Enabled: wait for completion{} after each collective\n",
          o.blocking == 2 ? "" : " and barrier");
  if (o.per_iteration)
    print("# Per-Iteration Report Enabled: {} leading iterations skipped\n", o.per_iteration_skip);
  if (o.net_stats && !counts_network())
    print(
        "# --net-stats: this library has no network counters (weirCommNetStats); no "
        "columns\n");
  if (o.parallel_init) print("# Parallel Init Enabled: threads call into NCCL concurrently\n");
  print("#\n# Using devices\n");
  for (const RankInfo& r : ranks)
    print("#  Rank {:2} Group {:2} Pid {:6} on {:>10} device {:2} {}\n", r.rank, r.group, r.pid, r.host,
          r.device, r.hardware);
  fflush(stdout);
  if (!json_) return;
  json_->key("nccl_version").value(library_version);
  json_config(ranks);
}

void Report::json_config(const std::vector<RankInfo>& ranks) {
  const PerfOptions& o = options_;
  JsonWriter& json = *json_;
  json.key("config").begin_object();
  json.key("nthreads").value(o.threads);
  json.key("ngpus").value(o.gpus);
  json.key("minimum_bytes").value(o.min_bytes);
  json.key("maximum_bytes").value(o.max_bytes);
  if (o.step_factor > 1)
    json.key("step_factor").value(o.step_factor);
  else
    json.key("step_bytes").value(o.step_bytes);
  json.key("warmup_iters").value(o.warmup);
  json.key("iterations").value(o.iterations);
  json.key("aggregated_iterations").value(o.aggregated);
  json.key("validation").value(o.checks);
  json.key("graph").value(o.graph);
  json.key("blocking_collectives").value(o.blocking != 0);
  json.key("per_iter_timing").value(o.per_iteration != 0);
  json.key("per_iter_skip").value(o.per_iteration_skip);
  json.key("parallel_init").value(o.parallel_init != 0);
  json.key("devices").begin_list();
  for (const RankInfo& r : ranks) {
    size_t bracket = r.hardware.find(']');
    json.begin_object();
    json.key("rank").value(r.rank);
    json.key("group").value(r.group);
    json.key("pid").value(r.pid);
    json.key("hostname").value(r.host);
    json.key("device").value(r.device);
    json.key("device_hex").value(r.hardware.substr(1, bracket - 1));
    json.key("device_info").value(r.hardware.substr(std::min(bracket + 2, r.hardware.size())));
    json.end();
  }
  json.end();
  json.end();
}

void Report::say_reduced(size_t max_bytes) {
  print("#\n# Reducing maxBytes to {} due to memory limitation\n", max_bytes);
}

void Report::say(const std::string& line) { print("# {}\n", line); }

void Report::begin_table() {
  const bool iterations = options_.per_iteration != 0;
  const std::string between(iterations ? 36 : 0, ' ');
  print(
      "#\n# {:10}  {:12}  {:8}  {:6}  {:6}           out-of-place            {}           in-place          "
      "\n",
      "", "", "", "", "", between);
  auto half = [iterations](const char* time, const char* bandwidth, const char* wrong, const char* unit) {
    std::string text =
        fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", time, bandwidth, *unit ? bandwidth : "busbw", wrong);
    if (!iterations) return text;
    if (*unit) return text + fmt::format("  {:>7}  {:>7}  {:>7}  {:>7}", unit, unit, unit, "(%)");
    return text + fmt::format("  {:>7}  {:>7}  {:>7}  {:>7}", "i_min", "i_max", "i_p99", "i_cv");
  };
  const std::string names = half(options_.cpu_time ? "cputime" : "time", "algbw", "#wrong", "");
  const std::string units = half("(us)", "(GB/s)", "", "(us)");
  const bool net = options_.net_stats && counts_network();
  const std::string net_names =
      net ? net_columns({"out", "grants", "stalls", "stalled", "retrans", "drops", "retries"}) : "";
  const std::string net_units = net ? net_columns({"(MB)", "", "", "(ms)", "(segs)", "(pkts)", ""}) : "";
  const std::string limit_names = options_.limit ? limit_columns("limit", "of it") : "";
  const std::string limit_units = options_.limit ? limit_columns("(us)", "(%)") : "";
  const std::string stamp = options_.timestamps ? fmt::format("{:>19}", "timestamp") : "";
  print("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}{}{}{}{} {}\n", "size", "count", "type", "redop", "root", names,
        names, net_names, limit_names, stamp);
  print("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}{}{}{}{} {:{}}\n", "(B)", "(elements)", "", "", "", units,
        units, net_units, limit_units, "", stamp.size());
  fflush(stdout);
  if (json_) json_->key("results").begin_list();
  table_ = true;
}

void Report::begin_row(const RowHead& head) {
  std::string root = fmt::format("{:6}", head.root);
  print("{:12}  {:12}  {:>8}  {:>6}  {}", head.bytes, head.count, head.type, head.op, root);
  row_ = true;
  reached_.clear();
  if (!json_) return;
  json_->begin_object();
  json_->key("size").value(head.bytes);
  json_->key("count").value(head.count);
  json_->key("type").value(head.type);
  json_->key("redop").value(head.op);
  json_->key("root").value(root);
}

void Report::half(const Measurement& m, bool in_place) {
  print("  {:>7}  {:>6}  {:>6}  ", fit(m.microseconds, 7), fit(m.algorithm_bandwidth, 6),
        fit(m.bus_bandwidth, 6));
  if (m.wrong)
    print("{:6g}", *m.wrong);
  else
    print("  N/A");
  if (m.iterations) {
    IterationStats stats = iteration_stats(m.iterations->slowest);
    for (double number : {stats.min, stats.max, stats.p99, stats.variation()})
      print("  {:>7}", fit(number, 7));
  }
  fflush(stdout);
  if (m.limit_us) reached_.push_back({*m.limit_us, 100 * *m.limit_us / m.microseconds});
  ++halves_;
  bus_bandwidth_ += m.bus_bandwidth;
  wrong_halves_ += m.wrong.value_or(0) > 0;
  if (json_) json_half(m, in_place);
}

void Report::json_half(const Measurement& m, bool in_place) {
  json_->key(in_place ? "in_place" : "out_of_place").begin_object();
  json_->key(options_.cpu_time ? "cpu_time" : "time").value(m.microseconds);
  json_->key("alg_bw").value(m.algorithm_bandwidth);
  json_->key("bus_bw").value(m.bus_bandwidth);
  json_->key("nwrong");
  if (m.wrong)
    json_->value(*m.wrong);
  else
    json_->null();
  json_->end();
  if (m.iterations) json_iterations(*m.iterations, in_place);
}

void Report::json_iterations(const IterationTimes& times, bool in_place) {
  IterationStats stats = iteration_stats(times.slowest);
  auto list = [this](const std::vector<double>& numbers) {
    json_->begin_list();
    for (double number : numbers) json_->value(number);
    json_->end();
  };
  json_->key(in_place ? "in_place_per_iter" : "out_of_place_per_iter").begin_object();
  json_->key("skipped_iterations").value(times.skipped);
  json_->key("min_us").value(stats.min);
  json_->key("max_us").value(stats.max);
  json_->key("avg_us").value(stats.mean);
  json_->key("p50_us").value(stats.p50);
  json_->key("p95_us").value(stats.p95);
  json_->key("p99_us").value(stats.p99);
  json_->key("stdev_us").value(stats.deviation);
  json_->key("cv_pct").value(stats.variation());
  json_->key("times_us");
  list(times.slowest);
  json_->key("per_process_max_times_us").begin_list();
  for (const std::vector<double>& process : times.by_process) list(process);
  json_->end();
  json_->end();
}

void Report::json_net(const NetStats& net) {
  json_->begin_object();
  json_->key("operations").value(2 * options_.iterations * options_.aggregated * std::max(options_.graph, 1));
  for (size_t i = 0; i < kNetStatNames.size(); ++i)
    json_->key(kNetStatNames[i]).value(static_cast<int64_t>(net.counts[i]));
  json_->end();
}

void Report::json_limit() {
  json_->key("limit").begin_object();
  for (size_t half = 0; half < reached_.size(); ++half) {
    json_->key(half == 0 ? "out_of_place" : "in_place").begin_object();
    json_->key("time").value(reached_[half].limit_us);
    json_->key("percent").value(reached_[half].percent);
    json_->end();
  }
  json_->end();
}

void Report::end_row(const std::optional<NetStats>& net) {
  if (options_.net_stats && net) print("{}", net_row(*net));
  for (const Reached& half : reached_) print("  {:>8}  {:>6}", fit(half.limit_us, 8), fit(half.percent, 6));
  if (options_.timestamps) print("{:>21}", now_text());
  print("\n");
  fflush(stdout);
  row_ = false;
  if (!json_) return;
  json_->key("actual_iterations").value(options_.iterations);
  json_->key("experiment_name").value(program_);
  if (!reached_.empty()) json_limit();
  json_->key("net_stats");
  if (net)
    json_net(*net);
  else
    json_->null();
  json_->end();
}

ExitCode Report::finish(const Outcome& outcome, std::optional<double> minimum,
                        const std::string& memory_line) {
  if (row_) print("\n");
  const double mean = halves_ > 0 ? bus_bandwidth_ / halves_ : 0;
  const bool enough = !minimum || mean >= 0.9 * *minimum;
  const std::string verdict = !minimum ? "" : enough ? "OK" : "FAILED";
  if (outcome.ok()) {
    print("# {:20} : {} {}\n", "Out of bounds values", wrong_halves_, wrong_halves_ == 0 ? "OK" : "FAILED");
    print("# {:20} : {:g} {}\n#\n", "Avg bus bandwidth", mean, verdict);
    print("# Collective test concluded: {}\n", program_);
    if (!memory_line.empty()) print("# {}\n", memory_line);
    // The run was good: what the library said last was a warning. nccl-tests calls it an error.
    const char* last = ncclGetLastError(nullptr);
    if (last != nullptr && *last != '\0')
      print("#\n# last warning: {}\n", last);
    else
      print("#\n\n");
  }
  fflush(stdout);
  if (json_) json_footer(outcome, wrong_halves_, mean, verdict);
  if (!outcome.ok()) return outcome.code();
  return wrong_halves_ == 0 && enough ? ExitCode::success : ExitCode::wrong;
}

void Report::json_footer(const Outcome& outcome, int wrong_halves, double mean, const std::string& verdict) {
  JsonWriter& json = *json_;
  if (row_) json.end();    // the row that failed
  if (table_) json.end();  // the list of results
  json.key("out_of_bounds").begin_object();
  json.key("count").value(wrong_halves);
  json.key("okay").value(wrong_halves == 0);
  json.end();
  json.key("average_bus_bandwidth").begin_object();
  json.key("bandwidth").value(mean);
  if (verdict.empty())
    json.key("okay").value("unchecked");
  else
    json.key("okay").value(verdict == "OK");
  json.end();
  json.key("errors").begin_list();
  if (!outcome.ok()) json.value(outcome.report());
  json.end();
  json.key("end_time").value(now_text());
  json.end_all();
}

}  // namespace weir::perf
