// SPDX-License-Identifier: Apache-2.0
/// The words for how fast links of networks are.
#pragma once

#include <string>
#include <string_view>

namespace weir::topology {

enum class InfinibandSpeed : unsigned char { unknown, sdr, ddr, qdr, fdr10, fdr, edr, hdr, ndr, xdr };
/// "HDR"; "???" for unknown.
const char* name(InfinibandSpeed speed);
/// Also "???"; false: there is no such speed.
bool parse_infiniband_speed(std::string_view word, InfinibandSpeed& speed);
/// 1e9 bits of data per second of one lane, after 8b/10b or 64b/66b; 0: not known.
double gbit_per_s(InfinibandSpeed speed);

/// "400G": 1e9 bits of data per second; "?" is 0, not known. At most 1e6. False: it is none of these.
bool parse_bandwidth(std::string_view word, double& gbit_per_s);
std::string write_bandwidth(double gbit_per_s);

}  // namespace weir::topology
