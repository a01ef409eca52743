// SPDX-License-Identifier: Apache-2.0

#include "src/drivers/rdma_counters.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "src/base/log.h"

namespace weir::drivers {
namespace {

struct Kind {
  const char* file;  ///< path relative to the port's folder
  bool drops;
};

constexpr Kind kKinds[] = {
    {"hw_counters/packet_seq_err", false},         // mlx5: the receiver missed packets
    {"hw_counters/implied_nak_seq_err", false},    // an acknowledgement of later packets implies a loss
    {"hw_counters/local_ack_timeout_err", false},  // no acknowledgement in time
    {"hw_counters/rnr_nak_retry_err", false},      // the receiver was not ready
    {"hw_counters/roce_adp_retrans", false},       // adaptive retransmissions, before the timeout
    {"hw_counters/seq_err_naks_rcvd", false},      // bnxt_re: the receiver missed packets
    {"hw_counters/to_retransmits", false},
    {"hw_counters/rnr_naks_rcvd", false},
    {"hw_counters/completer_retry_err", false},  // rxe: missing packets and timeouts
    {"hw_counters/rcvd_rnr_err", false},
    {"counters/port_xmit_discards", true},  // InfiniBand's standard counter
    {"counters/port_rcv_errors", true},
    {"hw_counters/rx_icrc_encapsulated", true},  // mlx5, RoCE: packets with a wrong checksum
    {"hw_counters/tx_roce_discards", true},      // bnxt_re
    {"hw_counters/rx_roce_discards", true},
};

/// Reads a counter; drivers write "N/A (no PMA)" for counters that they do not support.
std::optional<uint64_t> number_in(Files& files, const std::string& path) {
  const auto text = files.read(path);
  if (!text || text->empty()) return std::nullopt;
  uint64_t number = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

uint64_t counted(uint64_t before, uint64_t now) {
  if (now >= before) return now - before;
  const uint64_t wrapped = (uint64_t{1} << 32) - before + now;
  return before >> 32 == 0 && wrapped < uint64_t{1} << 30 ? wrapped : now;
}

}  // namespace

void RdmaCounters::begin(const std::vector<Port>& ports) {
  const std::lock_guard lock(mutex_);
  if (begun_) return;
  begun_ = true;
  for (const auto& [device, number] : ports) {
    std::string told;
    for (const Kind& kind : kKinds) {
      const std::string path = fmt::format("/sys/class/infiniband/{}/ports/{}/{}", device, number, kind.file);
      const auto value = number_in(*files_, path);
      if (!value) continue;
      counters_.push_back({path, kind.drops, *value});
      told += fmt::format("{}{} ({})", told.empty() ? "" : ", ", kind.file, kind.drops ? "drops" : "retries");
    }
    WEIR_INFO(net, "RDMA port {}:{}: counting lost packets from {}", device, number,
              told.empty() ? "no file, because its driver has no counter that weir knows" : told);
  }
}

RdmaCounts RdmaCounters::read() const {
  const std::lock_guard lock(mutex_);
  RdmaCounts counts;
  for (const Counter& counter : counters_) {
    const auto now = number_in(*files_, counter.path);
    if (now) (counter.drops ? counts.dropped : counts.retries) += counted(counter.before, *now);
  }
  return counts;
}

}  // namespace weir::drivers
