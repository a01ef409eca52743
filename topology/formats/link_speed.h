// SPDX-License-Identifier: Apache-2.0
/// Names of the speeds of network links.
/// Tests: tests/topology/levels_test.cc
#pragma once

#include <string>
#include <string_view>

namespace weir::topology {

enum class InfinibandSpeed : unsigned char { unknown, sdr, ddr, qdr, fdr10, fdr, edr, hdr, ndr, xdr };
/// The name, such as "HDR"; "???" for unknown.
const char* name(InfinibandSpeed speed);
/// Parses a name, including "???"; false: there is no such speed.
bool parse_infiniband_speed(std::string_view word, InfinibandSpeed& speed);
/// Data rate of one lane in Gbit/s, after 8b/10b or 64b/66b coding; 0: unknown.
double gbit_per_s(InfinibandSpeed speed);

/// Parses "400G" as Gbit/s of data; "?" is 0, unknown. At most 1e6. False: another notation.
bool parse_bandwidth(std::string_view word, double& gbit_per_s);
std::string write_bandwidth(double gbit_per_s);

}  // namespace weir::topology
