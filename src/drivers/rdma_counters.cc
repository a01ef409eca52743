// SPDX-License-Identifier: Apache-2.0

#include "src/drivers/rdma_counters.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "src/base/log.h"

namespace weir::drivers {
namespace {

struct Kind {
  const char* file;  ///< below a port's folder
  bool drops;
};

constexpr Kind kKinds[] = {
    {"hw_counters/packet_seq_err", false},         // mlx5: the receiver missed packets
    {"hw_counters/implied_nak_seq_err", false},    // an answer that only later packets can have
    {"hw_counters/local_ack_timeout_err", false},  // no answer in time
    {"hw_counters/rnr_nak_retry_err", false},      // the receiver was not ready
    {"hw_counters/roce_adp_retrans", false},       // before the time, where the device guesses
    {"hw_counters/seq_err_naks_rcvd", false},      // bnxt_re: the same
    {"hw_counters/to_retransmits", false},
    {"hw_counters/rnr_naks_rcvd", false},
    {"hw_counters/completer_retry_err", false},  // rxe: missing packets and timeouts
    {"hw_counters/rcvd_rnr_err", false},
    {"counters/port_xmit_discards", true},  // of InfiniBand
    {"counters/port_rcv_errors", true},
    {"hw_counters/rx_icrc_encapsulated", true},  // mlx5, RoCE: wrong checksum
    {"hw_counters/tx_roce_discards", true},      // bnxt_re
    {"hw_counters/rx_roce_discards", true},
};

/// Drivers answer "N/A (no PMA)" for what they do not count.
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
    WEIR_INFO(net, "RDMA port {}:{} counts what is lost in {}", device, number,
              told.empty() ? "no file that is known here" : told);
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
