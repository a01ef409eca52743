// SPDX-License-Identifier: Apache-2.0

#include "src/cli/measured_words.h"

#include <fmt/format.h>

#include "topology/formats/hostlist.h"
#include "topology/views/words.h"

namespace weir::cli {
namespace {

using From = topology::MeasuredLeaves::From;
using topology::bandwidth_words;

std::string list(const topology::Measured& measured, const std::vector<size_t>& hosts) {
  std::vector<std::string> names;
  for (const size_t host : hosts) names.push_back(measured.hosts[host]);
  return topology::compress_hostlist(names);
}

std::string leaf_words(const topology::Measured& measured, const topology::MeasuredLeaf& leaf,
                       size_t number) {
  std::string text = fmt::format("leaf{}: {}", number, list(measured, leaf.hosts));
  if (leaf.up_gb_per_s <= 0) return text + "\n";
  // If hosts never all sent at the same time, the figure is only a lower limit of the uplinks' bandwidth.
  const double over = leaf.down_gb_per_s / leaf.up_gb_per_s;
  text += fmt::format("; {} down, at least {} up", bandwidth_words(leaf.down_gb_per_s),
                      bandwidth_words(leaf.up_gb_per_s));
  return text + (over > 1.1 ? fmt::format(", at most {:.1f}:1 oversubscribed\n", over) : "\n");
}

}  // namespace

std::string verdict_words(const topology::MeasuredLeaves& found) {
  if (found.from == From::nothing)
    return "one leaf, or several leaves with uplinks that are not oversubscribed; the measurements cannot "
           "distinguish these cases";
  const char* const from = found.from == From::both      ? "bandwidth and latency"
                           : found.from == From::latency ? "latency"
                                                         : "bandwidth";
  return fmt::format("{} leaves, detected from {}, confidence {:.2f}", found.leaves.size(), from,
                     found.confidence);
}

std::string measured_words(const topology::Measured& measured, const topology::MeasuredLeaves& found) {
  std::string text = verdict_words(found) + "\n";
  if (found.from == From::nothing) {
    text += fmt::format("confidence that there are several leaves: {:.2f}, expected at least {:.2f}\n",
                        found.confidence, topology::least_confidence(measured.hosts.size()));
  } else {
    text +=
        "(confidence 0: no better than measurements in random order; 1: leaves are clearly distinct in every "
        "repetition)\n";
  }
  for (size_t leaf = 0; leaf < found.leaves.size(); ++leaf)
    text += leaf_words(measured, found.leaves[leaf], leaf);
  const bool several = found.leaves.size() > 1;
  text += fmt::format("{}all hosts active: {} and {:.1f} us", several ? "inside a leaf, " : "",
                      bandwidth_words(found.inside_gb_per_s), found.inside_us);
  if (several)
    text += fmt::format("; between leaves: {} and {:.1f} us", bandwidth_words(found.across_gb_per_s),
                        found.across_us);
  text += "\n";
  for (const size_t host : found.slow) {
    text += fmt::format("slow: {} reached only {} with all other hosts idle; most hosts reached more\n",
                        measured.hosts[host], bandwidth_words(found.gb_per_s[host]));
  }
  if (!found.unplaced.empty()) {
    text += fmt::format("unknown leaf: {} is not clearly nearer to one leaf than to the others\n",
                        list(measured, found.unplaced));
  }
  return text;
}

}  // namespace weir::cli
