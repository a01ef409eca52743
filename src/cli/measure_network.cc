// SPDX-License-Identifier: Apache-2.0

#include "src/cli/measure_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>

#include "src/cli/pair_meter.h"
#include "topology/model/tournament.h"

namespace weir::cli {
namespace {

using core::Communicator;
using topology::Measured;
using topology::Tournament;

/// Identity of a rank; sent as raw bytes.
struct HostRecord {
  uint64_t host;
  MeasurePlan plan;
  char name[256];
};

Status gather(Communicator& communicator, Collective kind, const void* own, size_t bytes, void* all) {
  const core::Operation operation =
      core::CollectiveOp{.kind = kind, .type = DataType::uint8, .input = own, .output = all, .count = bytes};
  return communicator.run({&operation, 1});
}

/// Makes host names unique by appending numbers to equal ones.
std::vector<std::string> names_of(const std::vector<HostRecord>& hosts) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const HostRecord& record : hosts) {
    const std::string base(record.name, strnlen(record.name, sizeof record.name));
    std::string name = base;
    for (int number = 2; !taken.insert(name).second; ++number) name = fmt::format("{}-{}", base, number);
    names.push_back(std::move(name));
  }
  return names;
}

/// The measurements of one host.
class HostMeter {
 public:
  HostMeter(Communicator& hosts, const MeasurePlan& plan)
      : hosts_(hosts),
        plan_(plan),
        meter_(hosts),
        self_(hosts.rank()),
        count_(static_cast<size_t>(hosts.size())) {}

  /// Rank 0 receives everything except the names.
  Result<Measured> measure() {
    Measured measured;
    measured.hosts.resize(count_);
    WEIR_TRY(measure_alone(measured));
    for (int i = 0; i < plan_.repetitions; ++i) WEIR_TRY(repeat(i, measured));
    return measured;
  }

 private:
  Status barrier() {
    const char own = 0;
    std::vector<char> all(count_);
    return gather(hosts_, Collective::all_gather, &own, 1, all.data());
  }

  /// Measures each host with the next one, while all others wait.
  Status measure_alone(Measured& measured) {
    double best = 0;
    const int count = hosts_.size();
    for (int first = 0; first < (count == 2 ? 1 : count); ++first) {
      const int second = (first + 1) % count;
      WEIR_TRY(barrier());
      if (self_ != first && self_ != second) continue;
      const Result<double> speed = meter_.gb_per_s(self_ == first ? second : first, plan_.seconds_per_round);
      if (!speed.ok()) return speed.status();
      best = std::max(best, speed.value());
    }
    measured.alone_gb_per_s.resize(count_);
    return gather(hosts_, Collective::gather, &best, sizeof best, measured.alone_gb_per_s.data());
  }

  Status repeat(int repetition, Measured& measured) {
    const Tournament tournament(hosts_.size(), repetition);
    std::vector<double> row(2 * count_, 1);  // count_ latencies, followed by count_ bandwidths
    for (int round = 0; round < tournament.rounds(); ++round) {
      const int peer = tournament.partner(round, self_);
      WEIR_TRY(barrier());
      if (peer >= 0) {
        const Result<double> us = meter_.latency_us(peer, plan_.seconds_per_round / 4);
        if (!us.ok()) return us.status();
        row[static_cast<size_t>(peer)] = us.value();
      }
      WEIR_TRY(barrier());
      if (peer < 0) continue;
      const Result<double> speed = meter_.gb_per_s(peer, plan_.seconds_per_round);
      if (!speed.ok()) return speed.status();
      row[count_ + static_cast<size_t>(peer)] = speed.value();
    }
    std::vector<double> rows(self_ == 0 ? 2 * count_ * count_ : 0);
    WEIR_TRY(gather(hosts_, Collective::gather, row.data(), row.size() * sizeof(double), rows.data()));
    if (self_ == 0) measured.repetitions.push_back(joined(rows));
    return {};
  }

  /// Combines the figures of both ends of each pair into one.
  topology::MeasuredRepetition joined(const std::vector<double>& rows) const {
    topology::MeasuredRepetition one{std::vector<double>(count_ * count_, 1),
                                     std::vector<double>(count_ * count_, 1)};
    for (size_t a = 0; a < count_; ++a) {
      for (size_t b = 0; b < count_; ++b) {
        if (a == b) continue;
        const double* const lower = rows.data() + 2 * count_ * std::min(a, b);
        const double* const upper = rows.data() + 2 * count_ * std::max(a, b);
        one.latency_us[a * count_ + b] = lower[std::max(a, b)];  // measured by the lower rank
        one.gb_per_s[a * count_ + b] = (lower[count_ + std::max(a, b)] + upper[count_ + std::min(a, b)]) / 2;
      }
    }
    return one;
  }

  Communicator& hosts_;
  const MeasurePlan plan_;
  PairMeter meter_;
  const int self_;
  const size_t count_;
};

void say_how_long(size_t hosts, const MeasurePlan& plan) {
  const int rounds = Tournament(static_cast<int>(hosts), 0).rounds();
  const double seconds =
      plan.seconds_per_round * (1.25 * plan.repetitions * rounds + static_cast<double>(hosts));
  fmt::print(stderr,
             "weir measure: {} hosts; measuring all pairs {} times in {} rounds each takes about {:.0f} s\n",
             hosts, plan.repetitions, rounds, seconds + 1);
}

}  // namespace

Result<Measured> measure_network(Communicator& ranks, core::Runtime& runtime, const MeasurePlan& plan) {
  HostRecord own{};
  own.host = runtime.host();
  own.plan = plan;
  runtime.local_host().name().copy(own.name, sizeof own.name - 1);
  std::vector<HostRecord> records(static_cast<size_t>(ranks.size()));
  WEIR_TRY(gather(ranks, Collective::all_gather, &own, sizeof own, records.data()));
  MeasurePlan agreed = records[0].plan;
  std::vector<HostRecord> hosts;
  bool is_first = false;
  for (size_t rank = 0; rank < records.size(); ++rank) {
    const bool known = std::any_of(hosts.begin(), hosts.end(),
                                   [&](const HostRecord& other) { return other.host == records[rank].host; });
    if (known) continue;
    hosts.push_back(records[rank]);
    is_first |= static_cast<int>(rank) == ranks.rank();
  }
  if (hosts.size() < 2) {
    return Status(Code::invalid_usage,
                  fmt::format("all {} processes run on one host, {}; expected one process on each of several",
                              ranks.size(), hosts[0].name));
  }
  if (agreed.repetitions == 0) agreed.repetitions = topology::usual_repetitions(hosts.size());
  if (ranks.rank() == 0) say_how_long(hosts.size(), agreed);
  Communicator first_of_hosts(runtime, core::SplitOrigin{&ranks, is_first ? 0 : -1, 0}, core::Config());
  WEIR_TRY(first_of_hosts.connect());
  if (!is_first) return Measured();
  Result<Measured> measured = HostMeter(first_of_hosts, agreed).measure();
  if (!measured.ok() || ranks.rank() != 0) return measured.ok() ? Measured() : measured;
  measured->hosts = names_of(hosts);
  return measured;
}

}  // namespace weir::cli
