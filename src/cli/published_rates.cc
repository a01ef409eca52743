// SPDX-License-Identifier: Apache-2.0

#include "src/cli/published_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

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

bool is_known(const PublishedRate& figure) { return figure.kind != RateKind::none; }
double ratio_of(const RateRow& row) { return row.predicted / row.figure.gb_per_s; }
const char* measure_of(const PublishedRate& figure) { return figure.bus ? "busbw" : "algbw"; }

/// In the order of their first figures.
std::vector<std::string_view> sources() {
  std::vector<std::string_view> found;
  for (const PublishedRate& figure : kRates)
    if (std::ranges::find(found, figure.source) == found.end()) found.push_back(figure.source);
  return found;
}

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

std::string rates_json(std::span<const RateRow> rows) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const RateRow& row : rows) {
    nlohmann::ordered_json json = {{"machine", row.figure.machine},
                                   {"line", row.figure.line},
                                   {"collective", name(row.figure.collective)},
                                   {"measure", measure_of(row.figure)},
                                   {"published_GBps", nullptr},
                                   {"kind", name(row.figure.kind)},
                                   {"source", row.figure.source},
                                   {"bound_GBps", row.bound},
                                   {"predicted_GBps", row.predicted},
                                   {"simulated", row.simulated},
                                   {"ratio", nullptr}};
    if (is_known(row.figure)) {
      json["published_GBps"] = row.figure.gb_per_s;
      json["ratio"] = ratio_of(row);
    }
    all.push_back(std::move(json));
  }
  return all.dump(2) + "\n";
}

std::string rates_title() {
  return fmt::format("{:<41}{:<12}{:<7}{:>10}  {:<10}{:>8}{:>11}{:>8}  {}\n", "machine", "collective",
                     "GB/s of", "published", "which is", "bound", "predicted", "ratio", "source");
}

std::string rates_line(const RateRow& row) {
  const PublishedRate& figure = row.figure;
  const bool known = is_known(figure);
  const std::vector<std::string_view> all = sources();
  const auto source = std::ranges::find(all, figure.source);
  return fmt::format("{:<41}{:<12}{:<7}{:>10}  {:<10}{:>8.4g}{:>11.4g}{:>8}  [{}]\n", figure.machine,
                     name(figure.collective), measure_of(figure),
                     known ? fmt::format("{:.5g}", figure.gb_per_s) : "-", known ? name(figure.kind) : "-",
                     row.bound, row.predicted, known ? fmt::format("{:.2f}", ratio_of(row)) : "-",
                     source - all.begin() + 1);
}

std::string rates_notes() {
  std::string text = "\nThe bound and the prediction are those of weir plan LINE --collective C:\n";
  std::string_view last;
  for (const PublishedRate& figure : kRates)
    if (figure.line != std::exchange(last, figure.line))
      text += fmt::format("  {:<41}{}\n", figure.machine, figure.line);
  text += "\nSources:\n";
  int number = 0;
  for (const std::string_view source : sources()) text += fmt::format("  [{}] {}\n", ++number, source);
  return text +
         "ratio = predicted / published. Predictions assume that GPUs and NICs keep up with the links.\n";
}

}  // namespace weir::cli
