// SPDX-License-Identifier: Apache-2.0

#include "topology/model/rates.h"

#include <array>
#include <charconv>

namespace weir::topology {
namespace {

/// "sm_90" -> 90; -1: another form.
int compute_capability(std::string_view arch) {
  if (!arch.starts_with("sm_")) return -1;
  arch.remove_prefix(3);
  int number = -1;
  const auto [end, error] = std::from_chars(arch.data(), arch.data() + arch.size(), number);
  return error == std::errc() ? number : -1;
}

}  // namespace

double pcie_gt_per_s(int generation) {
  static constexpr std::array<double, 6> kRates = {2.5, 5, 8, 16, 32, 64};
  return generation >= 1 && generation <= 6 ? kRates[static_cast<size_t>(generation - 1)] : 0;
}

double pcie_gb_per_s(double gt_per_s, int width) {
  if (gt_per_s <= 0 || width <= 0) return 0;
  // Generations 1 and 2 code 8 bits in 10, later ones 128 in 130; generation 6 sends flits of 242 payload
  // bytes in 256.
  const double efficiency = gt_per_s < 8 ? 0.8 : gt_per_s < 64 ? 128.0 / 130 : 242.0 / 256;
  return gt_per_s * efficiency / 8 * width;
}

double nvlink_gb_per_s(std::string_view arch) {
  const int sm = compute_capability(arch);
  if (sm < 60) return 0;
  if (sm < 70) return 20;
  if (sm == 86 || sm == 87 || sm == 89) return 14.0625;  // NVLink 3 at 50 Gb/s, of RTX boards
  if (sm < 100) return 25;
  return 50;
}

double xgmi_gb_per_s(std::string_view arch) {
  if (arch == "gfx906" || arch == "gfx908") return 46;
  if (arch == "gfx90a") return 50;
  if (arch == "gfx940" || arch == "gfx941" || arch == "gfx942") return 64;
  if (arch == "gfx950") return 76.8;
  return 0;
}

double between_packages_gb_per_s(const CpuFacts& cpu) {
  if (cpu.arch == "ppc64") return 32;
  if (cpu.vendor == "AuthenticAMD") return 16;
  if (cpu.vendor == "GenuineIntel" && cpu.family == 6) {
    if (cpu.model >= 0xcf) return 40;
    if (cpu.model >= 0x8f) return 22;
    if (cpu.model >= 0x55) return 10;
  }
  const bool zhaoxin = cpu.vendor == "CentaurHauls" || cpu.vendor == "  Shanghai  ";
  if (zhaoxin && cpu.family == 7 && cpu.model == 0x5b) return 9;
  return 6;
}

}  // namespace weir::topology
