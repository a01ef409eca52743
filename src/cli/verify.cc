// SPDX-License-Identifier: Apache-2.0

#include "src/cli/verify.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>

#include "algorithms/ir/symbolic.h"
#include "algorithms/ir/verify.h"
#include "src/base/text.h"
#include "src/cli/failure.h"
#include "src/cli/schedule.h"
#include "src/exec/check.h"
#include "src/exec/lower.h"

namespace weir::cli {
namespace {

constexpr int kExitWrong = 1;
/// Checks the programs of all ranks together for races and deadlock.
Status check_programs(const ir::Plan& plan, uint32_t slots) {
  std::vector<exec::Program> programs;
  for (Rank rank = 0; rank < plan.shape.ranks; ++rank) {
    auto program = exec::lower(plan, rank);
    WEIR_TRY(program.status());
    programs.push_back(std::move(*program));
  }
  exec::CheckOptions options;
  options.slots = slots;
  WEIR_TRY(exec::check(programs, options));
  if (!ir::has_in_place(plan.shape.kind)) return {};
  options.placement = ir::Placement::in_place;
  return exec::check(programs, options);
}

int verify_file(const std::string& file, uint32_t slots) {
  const auto plan = load_plan(file);
  if (!plan.ok()) return report_failure("verify", plan.status(), kExitUsage);
  Status proof = ir::verify(*plan);
  if (proof.ok()) proof = check_programs(*plan, slots);
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
      ->add_option("file", arguments.files,
                   "Files with plans: plan text (docs/plan-format.md) or MSCCL XML; -: standard input")
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
