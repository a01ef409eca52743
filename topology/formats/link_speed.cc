// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/link_speed.h"

#include <fmt/format.h>

#include <array>

#include "topology/formats/source.h"

namespace weir::topology {
namespace {

struct Speed {
  const char* name;
  double gbit_per_s;
};
// Up to QDR 8 of 10 bits are data, then 64 of 66; HDR, NDR and XDR are named after their data rate.
constexpr std::array<Speed, 10> kSpeeds = {{{"???", 0},
                                            {"SDR", 2},
                                            {"DDR", 4},
                                            {"QDR", 8},
                                            {"FDR10", 10.3125 * 64 / 66},
                                            {"FDR", 14.0625 * 64 / 66},
                                            {"EDR", 25.78125 * 64 / 66},
                                            {"HDR", 50},
                                            {"NDR", 100},
                                            {"XDR", 200}}};
constexpr double kMostGbit = 1e6;

}  // namespace

const char* name(InfinibandSpeed speed) { return kSpeeds[static_cast<size_t>(speed)].name; }
double gbit_per_s(InfinibandSpeed speed) { return kSpeeds[static_cast<size_t>(speed)].gbit_per_s; }

bool parse_infiniband_speed(std::string_view word, InfinibandSpeed& speed) {
  for (size_t i = 0; i < kSpeeds.size(); ++i) {
    if (word != kSpeeds[i].name) continue;
    speed = static_cast<InfinibandSpeed>(i);
    return true;
  }
  return false;
}

bool parse_bandwidth(std::string_view word, double& gbit_per_s) {
  double read = 0;
  if (word == "?") {
    gbit_per_s = 0;
    return true;
  }
  if (!word.ends_with('G') || !parse_number(word.substr(0, word.size() - 1), read)) return false;
  if (read <= 0 || read > kMostGbit) return false;
  gbit_per_s = read;
  return true;
}

std::string write_bandwidth(double gbit_per_s) {
  return gbit_per_s == 0 ? "?" : fmt::format("{}G", gbit_per_s);
}

}  // namespace weir::topology
