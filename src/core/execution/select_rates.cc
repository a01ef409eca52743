// SPDX-License-Identifier: Apache-2.0

#include "src/core/execution/select_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "src/base/clock.h"
#include "src/base/log.h"
#include "src/core/execution/calibration.h"
#include "src/core/placement/job_topology.h"
#include "src/core/planning/rate_cache.h"

namespace weir::core {
namespace {

std::string words(const cost::ChannelRates& channel, std::string_view where) {
  return fmt::format("{:.2f} us per message and {:.3g} ns per byte {}, ", channel.alpha * 1e6,
                     channel.beta * 1e9, where);
}

/// Whether measured rates inside a host are plausible. A network may be slower than its transport states, by
/// any factor; memory is slower only if other work occupies the cores.
bool believable(const cost::ChannelRates& measured, const cost::ChannelRates& stated) {
  constexpr double kMost = 20;
  return measured.alpha <= kMost * stated.alpha && measured.beta <= kMost * stated.beta;
}

/// Whether so many ranks share the cores of a machine that they would only measure each other.
bool is_crowded(const cost::Environment& around) {
  constexpr int kMostPerCore = 16;
  std::vector<int> ranks(around.cores.size());
  for (const int machine : around.machine_of) ++ranks[static_cast<size_t>(machine)];
  for (size_t machine = 0; machine < ranks.size(); ++machine) {
    if (ranks[machine] > kMostPerCore * std::max(around.cores[machine], 1)) return true;
  }
  return false;
}

Result<cost::Rates> measure(const RateInputs& inputs, Execution& execution,
                            const cost::Environment& by_rank) {
  const int64_t began = now_ns();
  const std::vector<PeerAddress>& peers = inputs.bootstrap.peers();
  const Rank self = inputs.bootstrap.rank();
  auto own = calibrate(execution, self, by_rank);
  WEIR_TRY(own.status());
  auto all = inputs.bootstrap.gather(ByteWriter().put(*own).take());
  WEIR_TRY(all.status());
  cost::Rates rates;
  for (const Bytes& bytes : (*all)->by_rank())
    rates = cost::slower(rates, ByteReader(bytes).get<cost::Rates>());
  if (!believable(rates.inside, by_rank.rates.inside)) {
    WEIR_INFO(init,
              "ignoring the rates measured inside hosts and caching none: they are implausibly low, as if "
              "the hosts were busy");
    rates.inside = by_rank.rates.inside;
    return rates;
  }
  if (is_lowest_on_host(peers, self)) {
    const RateCache cache(inputs.options.cache_dir,
                          circumstances(inputs.options, inputs.routes, peers, self));
    if (const Status written = cache.write(rates); !written.ok()) WEIR_WARN("{}", written.message());
  }
  WEIR_INFO(init, "measured the rates of channels and sums in {:.1f} ms",
            static_cast<double>(now_ns() - began) * 1e-6);
  return rates;
}

}  // namespace

Result<cost::Rates> select_rates(const RateInputs& inputs, Execution& execution) {
  const cost::Environment by_rank = environment_of(inputs.peer_infos, inputs.bootstrap.peers());
  cost::Rates rates;
  if (!std::ranges::all_of(inputs.peer_infos, &PeerInfo::calibrates) || is_crowded(by_rank)) {
    rates = by_rank.rates;
  } else if (std::ranges::all_of(inputs.peer_infos, &PeerInfo::knows)) {
    for (const PeerInfo& peer_info : inputs.peer_infos) rates = cost::slower(rates, peer_info.known);
  } else {
    auto measured = measure(inputs, execution, by_rank);
    WEIR_TRY(measured.status());
    rates = *measured;
  }
  // The measurement is a ring and cannot show the cost of several senders to one rank.
  rates.between.merging = by_rank.rates.between.merging;
  rates.between.unasked = by_rank.rates.between.unasked;
  return inputs.shared_settings.override(rates);
}

std::string describe(const cost::Environment& around) {
  const bool alone = around.host_of.front() == around.host_of.back();
  return fmt::format("{}{}sums {:.3g} ns per byte", words(around.rates.inside, "inside hosts"),
                     alone ? "" : words(around.rates.between, "between hosts"), around.rates.gamma * 1e9);
}

}  // namespace weir::core
