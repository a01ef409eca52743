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
  if (!(bytes_per_s >= 0))  // also what is no number
    return Status(
        Code::invalid_argument,
        fmt::format("{} bytes/s is no rate for queue pairs of RDMA device {}", bytes_per_s, device));
  if (bytes_per_s == 0) return 0;
  if (most == 0)
    return Status(Code::invalid_usage,
                  fmt::format("RDMA device {} does not pace reliable queue pairs", device));
  const double kbits = bytes_per_s * kBitsPerByte / kBitsPerKbit;
  // Below 1 the device would understand "no limit".
  if (const uint32_t slowest = std::max(least, 1u); kbits < slowest) {
    return Status(Code::invalid_usage,
                  fmt::format("RDMA device {} paces queue pairs to {} kbit/s or more, not to {:g}", device,
                              slowest, kbits));
  }
  return static_cast<uint32_t>(std::min<double>(kbits, most));
}

}  // namespace weir::drivers
