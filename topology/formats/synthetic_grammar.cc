// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/synthetic_grammar.h"

#include <fmt/format.h>

#include <array>

#include "topology/formats/synthetic.h"

namespace weir::topology {
namespace {

using Word = MachineWord;

constexpr std::array kTerms = {
    MachineTerm{Word::hosts, "x", "HOSTS x", "so many hosts that are alike"},
    MachineTerm{
        Word::gpu, "gpu", "COUNT gpu",
        "GPUs of a host, numbered in order; GPU i is on the PCIe switch of NIC floor(i x NICs / GPUs), and "
        "has several NICs if there are fewer GPUs than NICs"},
    MachineTerm{Word::nvswitch, "nvswitch", "nvswitch GB/S",
                "NVSwitches join the GPUs of a host: the bandwidth of each GPU to them"},
    MachineTerm{Word::mesh, "mesh", "mesh GB/S",
                "a link between each pair of GPUs of a host, xGMI for example: the bandwidth of each"},
    MachineTerm{Word::ring, "ring", "ring GB/S",
                "a link from each GPU to the next one: the bandwidth to each of the two neighbours"},
    MachineTerm{
        Word::cube, "cube", "cube GB/S",
        "the cube mesh of the 8 GPUs of a DGX-1V: the bandwidth of one link, of which some pairs have two"},
    MachineTerm{
        Word::mi250, "mi250", "mi250 GB/S",
        "the first COUNT, at most 16, of the 16 dies of 8 MI250 packages: the bandwidth of one link, of "
        "which pairs have one to four"},
    MachineTerm{Word::pcie, "pcie", "pcie GB/S", "bandwidth of each GPU to its PCIe switch"},
    MachineTerm{Word::nic, "nic", "COUNT nic GB/S",
                "NICs of a host, with a port each: the bandwidth of each, 50 for 400 Gbit/s"},
    MachineTerm{Word::numa, "numa", "COUNT numa",
                "NUMA nodes of a host, over which its PCIe switches are spread evenly"},
    MachineTerm{Word::leaf, "leaf", "leaf",
                "leaf switches join the hosts; without them hosts are not connected"},
    MachineTerm{Word::rail, "rail", "rail leaf",
                "NIC j of all hosts below a group of leaf switches is on leaf switch j of the group"},
    MachineTerm{Word::by, "by", "by HOSTS", "so many hosts share a leaf switch, or a group of them"},
    MachineTerm{
        Word::ratio, ":1", "RATIO:1",
        "oversubscription: a leaf switch's bandwidth to its hosts, divided by that to all spine switches"},
    MachineTerm{Word::spine, "spine", "spine COUNT",
                "spine switches, each connected to all leaf switches, if there are several of these"},
};

constexpr std::array kLimits = {
    MachineLimits{MachineNumber::hosts, "HOSTS", 1, 100'000, "a number of hosts"},
    MachineLimits{MachineNumber::count, "COUNT", 1, 1024, "a number of devices or switches"},
    // Smaller numbers have an exponent when printed.
    MachineLimits{MachineNumber::gb_per_s, "GB/S", 1e-4, 1e6,
                  "a bandwidth in each direction, in GB/s (10^9 bytes/s)"},
    MachineLimits{MachineNumber::ratio, "RATIO", 0.01, 1000, "an oversubscription"},
};

constexpr bool in_order(const auto& rows) {
  for (size_t i = 0; i < rows.size(); ++i)
    if (static_cast<size_t>(rows[i].which) != i) return false;
  return true;
}
static_assert(in_order(kTerms) && in_order(kLimits));

constexpr std::array kRules = {
    MachineRule{"machine", "hosts { \"+\" hosts } [ network ]"},
    MachineRule{"hosts", "[ HOSTS \"x\" ] \"(\" item { \",\" item } \")\""},
    MachineRule{"item", "COUNT \"gpu\" [ links ] [ \"pcie\" GB/S ] | COUNT \"nic\" GB/S | COUNT \"numa\""},
    MachineRule{"links", "( \"nvswitch\" | \"mesh\" | \"ring\" | \"cube\" | \"mi250\" ) GB/S"},
    MachineRule{"network", "[ \"rail\" ] \"leaf\" [ \"by\" HOSTS ] [ RATIO \":1\" ] [ \"spine\" COUNT ]"},
};

constexpr std::array kExamples = {
    MachineRule{"(8 gpu nvswitch 450 pcie 63, 8 nic 50)",
                "a host of 8 GPUs behind NVSwitches, with 8 NICs of 400 Gbit/s"},
    MachineRule{"(8 gpu mesh 64 pcie 64, 8 nic 50)",
                "a host of 8 GPUs that are linked pair by pair, as MI300X are"},
    MachineRule{"16 x (4 nic 12.5) leaf by 4 spine 4",
                "16 hosts without GPUs, with 4 NICs of 100 Gbit/s, below 4 leaf and 4 spine switches"},
    MachineRule{"32 x (8 gpu nvswitch 450 pcie 63, 8 nic 50) rail leaf by 16 2:1 spine 8",
                "two groups of 16 hosts on rails, with half as much bandwidth upwards"},
    MachineRule{"2 x (8 gpu nvswitch 450, 8 nic 50) + 2 x (4 gpu nvswitch 300, 4 nic 25) leaf",
                "hosts of two kinds below one leaf switch"},
};

}  // namespace

std::span<const MachineTerm> machine_terms() { return kTerms; }
const MachineTerm& term_of(MachineWord word) { return kTerms[static_cast<size_t>(word)]; }
std::span<const MachineLimits> machine_limits() { return kLimits; }
const MachineLimits& limits_of(MachineNumber number) { return kLimits[static_cast<size_t>(number)]; }
std::span<const MachineRule> machine_rules() { return kRules; }
std::span<const MachineRule> machine_examples() { return kExamples; }

std::string left_out(MachineWord word) {
  const Synthetic::Hosts hosts;
  switch (word) {
    case Word::hosts: return fmt::format("{}", hosts.count);
    case Word::pcie: return fmt::format("{}", hosts.pcie_gb_per_s);
    case Word::numa: return fmt::format("{}", hosts.numa_nodes);
    case Word::by: return "all; with a ratio half of them, rounded up";
    case Word::ratio: return "1";
    case Word::spine: return fmt::format("{}", Synthetic::Fabric().spines);
    default: return "";
  }
}

}  // namespace weir::topology
