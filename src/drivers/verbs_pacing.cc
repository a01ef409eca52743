// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>

#include "src/drivers/verbs.h"

namespace weir::drivers {
namespace {

constexpr double kBitsPerByte = 8;
constexpr double kBitsPerKbit = 1000;

}  // namespace

Result<uint32_t> VerbsPacing::rate_for(double bytes_per_s, const std::string& device) const {
  if (!(bytes_per_s >= 0))  // also true for NaN
    return Status(
        Code::invalid_argument,
        fmt::format("{} bytes/s is not a valid rate for queue pairs of RDMA device {}; expected 0 or more",
                    bytes_per_s, device));
  if (bytes_per_s == 0) return 0;
  if (most == 0)
    return Status(Code::invalid_usage,
                  fmt::format("RDMA device {} cannot pace reliable queue pairs", device));
  const double kbits = bytes_per_s * kBitsPerByte / kBitsPerKbit;
  // The device would take a rate of 0 as "no limit".
  if (const uint32_t slowest = std::max(least, 1u); kbits < slowest) {
    return Status(Code::invalid_usage,
                  fmt::format("RDMA device {} cannot pace queue pairs below {} kbit/s; {:g} was requested",
                              device, slowest, kbits));
  }
  return static_cast<uint32_t>(std::min<double>(kbits, most));
}

}  // namespace weir::drivers
