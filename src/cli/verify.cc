// SPDX-License-Identifier: Apache-2.0

#include "src/cli/verify.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>

#include "algorithms/ir/symbolic.h"
#include "src/base/text.h"
#include "src/cli/failure.h"
#include "src/cli/schedule.h"
#include "src/exec/plan_proof.h"

namespace weir::cli {
namespace {

constexpr int kExitWrong = 1;

int verify_file(const std::string& file, uint32_t slots) {
  const auto plan = load_plan(file);
  if (!plan.ok()) return report_failure("verify", plan.status(), kExitUsage);
  if (const Status proof = exec::prove(*plan, slots); !proof.ok()) {
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
  command->add_option("--slots", arguments.slots, "Slots of each channel")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

int run_verify(const VerifyArguments& arguments) {
  int code = 0;
  for (const std::string& file : arguments.files) code = std::max(code, verify_file(file, arguments.slots));
  return code;
}

}  // namespace weir::cli
