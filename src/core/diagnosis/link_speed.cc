// SPDX-License-Identifier: Apache-2.0

#include "src/core/diagnosis/link_speed.h"

#include <fmt/format.h>

namespace weir::core {
namespace {

std::string rate_words(double bytes_per_s) {
  return bytes_per_s >= 1e8 ? fmt::format("{:.2f} GB/s", bytes_per_s / 1e9)
                            : fmt::format("{:.2f} MB/s", bytes_per_s / 1e6);
}

}  // namespace

std::string describe(const LinkSpeed& link, Rank from) {
  return fmt::format("rank {} -> rank {} by {}{}: {} over the last {} calls, {} before", from, link.peer,
                     link.transport, link.over.empty() ? "" : " over " + link.over,
                     rate_words(link.bytes_per_s), link.calls, rate_words(link.past_bytes_per_s));
}

}  // namespace weir::core
