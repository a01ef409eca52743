// SPDX-License-Identifier: Apache-2.0

#include "topology/model/device_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "topology/model/rates.h"

namespace weir::topology {
namespace {

constexpr uint32_t kNvidia = 0x10de;
constexpr uint32_t kAmd = 0x1002;
constexpr uint32_t kMellanox = 0x15b3;
constexpr uint32_t kAmazon = 0x1d0f;
constexpr double kGbitPerByte = 8;

struct Generation {
  std::string_view arch;
  std::string_view nvlink;  ///< generation of NVLink; empty: no NVLink
  int pcie;                 ///< generation of PCIe
  double nic_gbit;          ///< usual network adapter per GPU
};

/// NVIDIA: data sheets of P100 (NVLink, PCIe 3), V100 (NVLink 2, PCIe 3), A100 (NVLink 3, PCIe 4), H100
/// (NVLink 4, PCIe 5), B200 (NVLink 5, PCIe 5); network adapters of DGX-1 and DGX-2 (ConnectX-4 and 5, 100
/// Gb/s), DGX A100 (ConnectX-6, 200 Gb/s), DGX H100 and B200 (ConnectX-7, 400 Gb/s). AMD: data sheets of MI50
/// to MI250X (PCIe 4), MI300X and MI350X (PCIe 5), and of the reference platforms with one adapter per GPU.
/// The rates of their links are in rates.h.
constexpr std::array<Generation, 13> kGenerations = {{{"sm_60", "NVLink 1", 3, 100},
                                                      {"sm_70", "NVLink 2", 3, 100},
                                                      {"sm_75", "NVLink 2", 3, 100},
                                                      {"sm_80", "NVLink 3", 4, 200},
                                                      {"sm_86", "NVLink 3", 4, 200},
                                                      {"sm_89", "", 4, 200},
                                                      {"sm_90", "NVLink 4", 5, 400},
                                                      {"sm_100", "NVLink 5", 5, 400},
                                                      {"gfx906", "", 4, 100},
                                                      {"gfx908", "", 4, 200},
                                                      {"gfx90a", "", 4, 200},
                                                      {"gfx942", "", 5, 400},
                                                      {"gfx950", "", 5, 400}}};

struct Model {
  std::string_view word;  ///< one word of the model name
  std::string_view arch;
};

constexpr std::array<Model, 45> kModels = {
    {{"P100", "sm_60"},    {"GP100GL", "sm_60"}, {"V100", "sm_70"},    {"GV100GL", "sm_70"},
     {"V100S", "sm_70"},   {"T4", "sm_75"},      {"TU104GL", "sm_75"}, {"A100", "sm_80"},
     {"GA100", "sm_80"},   {"A800", "sm_80"},    {"A30", "sm_80"},     {"A10", "sm_86"},
     {"A10G", "sm_86"},    {"A16", "sm_86"},     {"A40", "sm_86"},     {"A6000", "sm_86"},
     {"GA102GL", "sm_86"}, {"L4", "sm_89"},      {"L20", "sm_89"},     {"L40", "sm_89"},
     {"L40S", "sm_89"},    {"AD102GL", "sm_89"}, {"AD104GL", "sm_89"}, {"H100", "sm_90"},
     {"GH100", "sm_90"},   {"H200", "sm_90"},    {"GH200", "sm_90"},   {"H800", "sm_90"},
     {"H20", "sm_90"},     {"B100", "sm_100"},   {"B200", "sm_100"},   {"GB200", "sm_100"},
     {"B300", "sm_100"},   {"GB300", "sm_100"},  {"MI50", "gfx906"},   {"MI60", "gfx906"},
     {"MI100", "gfx908"},  {"MI200", "gfx90a"},  {"MI210", "gfx90a"},  {"MI250", "gfx90a"},
     {"MI250X", "gfx90a"}, {"MI300A", "gfx942"}, {"MI300X", "gfx942"}, {"MI325X", "gfx942"},
     {"MI350X", "gfx950"}}};

struct DeviceRange {
  uint32_t vendor;
  uint32_t first;
  uint32_t last;
  std::string_view arch;
};

/// Source: the public list pci.ids. NVIDIA gives each chip a block of numbers.
constexpr std::array<DeviceRange, 16> kDevices = {{{kNvidia, 0x15f0, 0x15ff, "sm_60"},
                                                   {kNvidia, 0x1db0, 0x1dff, "sm_70"},
                                                   {kNvidia, 0x1eb0, 0x1ebf, "sm_75"},
                                                   {kNvidia, 0x2080, 0x20ff, "sm_80"},
                                                   {kNvidia, 0x2200, 0x22ff, "sm_86"},
                                                   {kNvidia, 0x2300, 0x23ff, "sm_90"},
                                                   {kNvidia, 0x2600, 0x28ff, "sm_89"},
                                                   {kNvidia, 0x2900, 0x29ff, "sm_100"},
                                                   {kNvidia, 0x3180, 0x31ff, "sm_100"},
                                                   {kAmd, 0x66a0, 0x66af, "gfx906"},
                                                   {kAmd, 0x7388, 0x738f, "gfx908"},
                                                   {kAmd, 0x7408, 0x7410, "gfx90a"},
                                                   {kAmd, 0x74a0, 0x74a9, "gfx942"},
                                                   {kAmd, 0x74b4, 0x74bf, "gfx942"},
                                                   {kAmd, 0x75a0, 0x75a3, "gfx950"},
                                                   {kAmd, 0x75b0, 0x75b3, "gfx950"}}};

struct Adapter {
  uint32_t vendor;
  uint32_t device;         ///< 0: by name only
  std::string_view model;  ///< part of the model name
  double gbit;             ///< one port, at its highest rate
};

/// Rates per port: NVIDIA's product briefs of ConnectX-3 (FDR) to ConnectX-8 and BlueField-2 and 3; Amazon's
/// list of instance types (EFA: 100 Gb/s per device in P4d and G6, 200 Gb/s in P5en, 400 Gb/s in P6-B200);
/// data sheets of Broadcom BCM57508 and BCM57608, AMD Pollara, HPE Slingshot 11, Cornelis Omni-Path 100.
/// Longer names come first.
constexpr std::array<Adapter, 29> kAdapters = {{{kMellanox, 0x1003, "ConnectX-3", 56},
                                                {kMellanox, 0x1007, "ConnectX-3", 56},
                                                {kMellanox, 0x1015, "ConnectX-4 Lx", 25},
                                                {kMellanox, 0x1016, "ConnectX-4 Lx", 25},
                                                {kMellanox, 0x1013, "ConnectX-4", 100},
                                                {kMellanox, 0x1014, "ConnectX-4", 100},
                                                {kMellanox, 0x1017, "ConnectX-5", 100},
                                                {kMellanox, 0x1018, "ConnectX-5", 100},
                                                {kMellanox, 0x1019, "ConnectX-5", 100},
                                                {kMellanox, 0x101a, "ConnectX-5", 100},
                                                {kMellanox, 0x101f, "ConnectX-6 Lx", 25},
                                                {kMellanox, 0x101d, "ConnectX-6 Dx", 100},
                                                {kMellanox, 0x101b, "ConnectX-6", 200},
                                                {kMellanox, 0x101c, "ConnectX-6", 200},
                                                {kMellanox, 0x1021, "ConnectX-7", 400},
                                                {kMellanox, 0x1023, "ConnectX-8", 800},
                                                {kMellanox, 0xa2d6, "BlueField-2", 200},
                                                {kMellanox, 0xa2dc, "BlueField-3", 400},
                                                {kAmazon, 0xefa0, "EFA", 100},
                                                {kAmazon, 0xefa1, "EFA", 100},
                                                {kAmazon, 0xefa2, "EFA", 200},
                                                {kAmazon, 0xefa3, "EFA", 400},
                                                {kAmazon, 0, "Elastic Fabric Adapter", 100},
                                                {0x14e4, 0x1750, "BCM57508", 200},
                                                {0x14e4, 0x1760, "BCM57608", 400},
                                                {0, 0, "Pollara", 400},
                                                {0, 0, "Slingshot", 200},
                                                {0x8086, 0x24f0, "Omni-Path", 100},
                                                {0x8086, 0x24f1, "Omni-Path", 100}}};

struct PortName {
  std::string_view beginning;
  std::string_view model;
  double gbit;
};

/// Names that the drivers of one kind of adapter give. "mlx5" is ConnectX-4 to ConnectX-8: no rate.
constexpr std::array<PortName, 6> kPortNames = {{{"mlx4_", "ConnectX-3", 56},
                                                 {"hfi1_", "Omni-Path", 100},
                                                 {"cxi", "Slingshot", 200},
                                                 {"hsi", "Slingshot", 200},
                                                 {"efa_", "EFA", 100},
                                                 {"rdmap", "EFA", 100}}};

constexpr double kUnknownNvlink = 25;  ///< NVLink 2, 3 and 4
constexpr double kUnknownXgmi = 50;    ///< MI200; MI50 and MI100: 46, MI300X: 64
constexpr double kUnknownNicGbit = 200;
constexpr double kUnknownBetweenNumas = 16;
constexpr int kNvlinksOfBlockHost = 72;
constexpr int kUnknownPcie = 4;

const Generation* generation(std::string_view arch) {
  const auto found = std::find_if(kGenerations.begin(), kGenerations.end(),
                                  [arch](const Generation& each) { return each.arch == arch; });
  return found == kGenerations.end() ? nullptr : &*found;
}

/// Compares each word of letters and digits.
std::string_view arch_of_model(std::string_view name) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  while (!name.empty()) {
    const auto end = std::find_if_not(name.begin(), name.end(), is_word);
    const std::string_view word = name.substr(0, static_cast<size_t>(end - name.begin()));
    for (const Model& model : kModels) {
      if (word == model.word) return model.arch;
    }
    name.remove_prefix(std::min(word.size() + 1, name.size()));
  }
  return {};
}

NamedRate of_gbit(double gbit, std::string_view name) {
  return {gbit / kGbitPerByte, fmt::format("{}{}{:g} Gb/s", name, name.empty() ? "" : ", ", gbit)};
}

}  // namespace

std::string arch_of(const GpuFacts& gpu) {
  if (!gpu.arch.empty()) return gpu.arch;
  for (const DeviceRange& range : kDevices) {
    if (gpu.pci.vendor == range.vendor && gpu.pci.device >= range.first && gpu.pci.device <= range.last)
      return std::string(range.arch);
  }
  return std::string(arch_of_model(gpu.model_name));
}

std::string arch_of_nvlinks(int links) {
  return links == 6 ? "sm_70" : links == 12 ? "sm_80" : links == 18 ? "sm_90" : "";
}

NamedRate assumed_nvlink(std::string_view arch) {
  const Generation* const known = generation(arch);
  const double rate = nvlink_gb_per_s(arch);
  if (rate == 0) return {kUnknownNvlink, "NVLink 2 to 4"};
  return {rate, known != nullptr && !known->nvlink.empty() ? std::string(known->nvlink) : std::string(arch)};
}

NamedRate assumed_xgmi(std::string_view arch) {
  const double rate = xgmi_gb_per_s(arch);
  return rate == 0 ? NamedRate{kUnknownXgmi, "MI200"} : NamedRate{rate, std::string(arch)};
}

/// NVIDIA's data sheets of GH200 and GB200: 900 GB/s for both directions together, which the two GPUs of a
/// GB200 share. AMD's MI300A: inside one package.
NamedRate assumed_c2c(std::string_view arch) {
  return arch == "sm_100" ? NamedRate{225, "GB200"} : NamedRate{450, "GH200"};
}

int pcie_generation(std::string_view arch) {
  const Generation* const known = generation(arch);
  return known == nullptr ? 0 : known->pcie;
}

NamedRate assumed_pcie(int generation) {
  if (generation < 1 || generation > 6) generation = kUnknownPcie;
  return {pcie_gb_per_s(pcie_gt_per_s(generation), 16), fmt::format("Gen{} x16", generation)};
}

NamedRate assumed_nic(const NicFacts& nic, std::string_view port, std::string_view gpu_arch) {
  const bool named = nic.pci.device != 0;
  for (const Adapter& adapter : kAdapters) {
    if (named && nic.pci.vendor == adapter.vendor && nic.pci.device == adapter.device)
      return of_gbit(adapter.gbit, adapter.model);
  }
  for (const Adapter& adapter : kAdapters) {
    if (nic.model_name.find(adapter.model) != std::string::npos) return of_gbit(adapter.gbit, adapter.model);
  }
  for (const PortName& each : kPortNames) {
    if (port.starts_with(each.beginning)) return of_gbit(each.gbit, each.model);
  }
  const Generation* const gpu = generation(gpu_arch);
  const std::string_view family = port.starts_with("mlx5") ? "mlx5" : "";
  return of_gbit(gpu == nullptr ? kUnknownNicGbit : gpu->nic_gbit, family);
}

/// An unknown processor gets NCCL's figure for AMD's, between those for Skylake (10) and Sapphire Rapids
/// (22).
NamedRate assumed_between_numas(const CpuFacts& cpu) {
  if (cpu.vendor.empty() && cpu.arch.empty()) return {kUnknownBetweenNumas, "unknown processor"};
  return {between_packages_gb_per_s(cpu), cpu.vendor.empty() ? cpu.arch : cpu.vendor};
}

/// NVIDIA's GB200 NVL72: a host has four GPUs with 18 NVLinks each.
NamedRate assumed_block(double of_one_nvlink) {
  return {kNvlinksOfBlockHost * of_one_nvlink, fmt::format("{} per host, GB200 NVL72", kNvlinksOfBlockHost)};
}

}  // namespace weir::topology
