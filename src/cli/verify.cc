// SPDX-License-Identifier: Apache-2.0

#include "src/cli/verify.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "algorithms/ir/symbolic.h"
#include "algorithms/network/network.h"
#include "algorithms/sim/ways.h"
#include "src/base/text.h"
#include "src/cli/failure.h"
#include "src/cli/plan_task.h"
#include "src/cli/schedule.h"
#include "src/exec/plan_proof.h"

namespace weir::cli {
namespace {

constexpr int kExitWrong = 1;

Result<algorithms::Network> network_of(const VerifyArguments& arguments) {
  Sources sources;
  sources.files = arguments.topology;
  sources.missing_rates = MissingRates::assume;
  std::unique_ptr<drivers::Machine> machine;
  const auto detected = look(sources, machine);
  WEIR_TRY(detected.status());
  const auto devices = devices_of(detected->graph, arguments.ranks);
  WEIR_TRY(devices.status());
  return algorithms::network_of(detected->graph, *devices);
}

Status ways_exist(const ir::Plan& plan, const algorithms::Network& network) {
  if (plan.shape.ranks == network.ranks()) return sim::check_ways(plan, network);
  return {Code::invalid_argument,
          fmt::format("the plan is for {}, but the topology has {}; use --ranks to select as many",
                      plural(plan.shape.ranks, "rank"), network.ranks())};
}

/// `network`: null if there is no topology.
int verify_file(const std::string& file, uint32_t slots, const algorithms::Network* network) {
  const auto plan = load_plan(file);
  if (!plan.ok()) return report_failure("verify", plan.status(), kExitUsage);
  Status proof = exec::prove(*plan, slots);
  if (proof.ok() && network != nullptr) proof = ways_exist(*plan, *network);
  if (!proof.ok()) {
    fmt::print("{}: wrong: {}\n", file, proof.message());
    return kExitWrong;
  }
  fmt::print("{}: right: {} over {} by {}, {} of {}{}, with {} per channel\n", file, name(plan->shape.kind),
             plural(plan->shape.ranks, "rank"), plan->algorithm,
             plural(static_cast<int64_t>(plan->moves.size()), "move"), plural(plan->shape.chunks, "chunk"),
             ir::has_in_place(plan->shape.kind) ? ", in place and out of place" : "", plural(slots, "slot"));
  return 0;
}

}  // namespace

void add_verify(CLI::App& app, VerifyArguments& arguments) {
  CLI::App* command =
      app.add_subcommand("verify", "Prove that the plans in files are correct, or report the first error");
  command
      ->add_option(
          "file", arguments.files,
          "Files with plans: plan text (docs/plan-format.md), MSCCL XML or MSCCL++ JSON; -: standard input")
      ->required();
  auto* topology = command->add_option(
      "--topology", arguments.topology,
      "Topology file or description: also check that the way of each move exists there; may be repeated");
  topology->allow_extra_args(false);
  command
      ->add_option(
          "--ranks", arguments.ranks,
          "Numbers of the GPUs (or hosts) of the topology that are the ranks, such as 0-7,9; default: all")
      ->needs(topology);
  command->add_option("--slots", arguments.slots, "Slots of each channel")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

int run_verify(const VerifyArguments& arguments) {
  int code = 0;
  std::optional<algorithms::Network> network;
  if (!arguments.topology.empty()) {
    auto found = network_of(arguments);
    if (!found.ok()) return report_failure("verify", found.status(), kExitUsage);
    network = std::move(*found);
  }
  for (const std::string& file : arguments.files)
    code = std::max(code, verify_file(file, arguments.slots, network ? &*network : nullptr));
  return code;
}

}  // namespace weir::cli
