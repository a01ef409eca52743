// SPDX-License-Identifier: Apache-2.0

#include "src/cli/published_rates.h"

namespace weir::cli {
namespace {

constexpr const char* kForestColl =
    "ForestColl (arXiv 2402.06787), output of its public code (liangyuRain/ForestColl, 3c13aee, 2025) for "
    "its "
    "own model of the machine, which has no PCIe";
constexpr const char* kSyccl =
    "SyCCL (SIGCOMM 2025, DOI 10.1145/3718958.3750499) has this machine; no figure in GB/s was found";
constexpr const char* kPccl =
    "PCCL (arXiv 2504.18658v2, 2026), abstract: on 2,048 dies of Frontier up to 33 times as fast as RCCL; no "
    "figure in GB/s was found";
constexpr const char* kA800 =
    "NVIDIA/nccl issue 412 (2023): 12 hosts, one HDR NIC each, a network that others use too; average of "
    "sizes";

constexpr PublishedRate kRates[] = {
    {"2 hosts of 16 dies of MI250, 16 per die", "2 x (16 gpu mi250 50, 16 nic 16) leaf",
     Collective::all_gather, 354.13, false, RateKind::bound, kForestColl},
    {"2 DGX A100", "2 x (8 gpu nvswitch 300, 8 nic 25) leaf", Collective::all_gather, 346.67, false,
     RateKind::bound, kForestColl},
    {"20 DGX A100", "20 x (8 gpu nvswitch 300, 8 nic 25) leaf", Collective::all_gather, 210.53, false,
     RateKind::bound, kForestColl},
    {"8 A100 on NVSwitches", "(8 gpu nvswitch 300)", Collective::all_reduce, 232.5, true, RateKind::measured,
     "NVIDIA/nccl issue 1048 (2023): NCCL, up to 4 GB"},
    {"2 hosts of 8 A100, 4 HDR NICs", "2 x (8 gpu nvswitch 300, 4 nic 25) leaf", Collective::all_reduce, 86,
     true, RateKind::measured, "NVIDIA/nccl issue 1048 (2023): NCCL"},
    {"12 hosts of 8 A800, 1 HDR NIC", "12 x (8 gpu nvswitch 200, 1 nic 25) leaf", Collective::all_reduce, 24,
     true, RateKind::expected, "NVIDIA/nccl issue 412 (2023): NCCL, 8 GB"},
    {"12 hosts of 8 A800, 1 HDR NIC", "12 x (8 gpu nvswitch 200, 1 nic 25) leaf", Collective::all_reduce,
     15.3, true, RateKind::measured, kA800},
    {"4 hosts of 8 A800, 4 HDR NICs, Clos", "4 x (8 gpu nvswitch 200, 4 nic 25) leaf by 2 spine 2",
     Collective::all_gather, 0, false, RateKind::none, kSyccl},
    {"8 H800 on NVSwitches", "(8 gpu nvswitch 200)", Collective::all_reduce, 215, true, RateKind::measured,
     "NVIDIA/nccl issue 1374 (2024): NCCL with NVLink SHARP, whose switches add; the plan has GPUs add"},
    {"64 hosts of 8 H800 on rails", "64 x (8 gpu nvswitch 200 pcie 64, 8 nic 50) rail leaf",
     Collective::all_gather, 0, false, RateKind::none, kSyccl},
    {"32 hosts of 8 H100, 8 NDR NICs", "32 x (8 gpu nvswitch 450 pcie 64, 8 nic 50) rail leaf",
     Collective::all_gather, 200, true, RateKind::measured,
     "NVIDIA/nccl issue 1218 (2024): NCCL, 2 GB; whether busbw is not said"},
    {"2,048 dies of Frontier", "256 x (8 gpu mi250 50, 4 nic 25) leaf", Collective::all_gather, 0, false,
     RateKind::none, kPccl},
};

}  // namespace

const char* name(RateKind kind) {
  switch (kind) {
    case RateKind::bound: return "bound";
    case RateKind::measured: return "measured";
    case RateKind::expected: return "expected";
    case RateKind::none: return "none";
  }
  return "";
}

std::span<const PublishedRate> published_rates() { return kRates; }

}  // namespace weir::cli
