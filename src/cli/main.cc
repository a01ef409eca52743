// SPDX-License-Identifier: Apache-2.0
// The weir command.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "src/base/options.h"
#include "src/cli/explain.h"
#include "src/cli/failure.h"
#include "src/cli/launcher.h"
#include "src/cli/library.h"
#include "src/cli/measure.h"
#include "src/cli/metrics.h"
#include "src/cli/order.h"
#include "src/cli/plan.h"
#include "src/cli/ps.h"
#include "src/cli/sim.h"
#include "src/cli/top.h"
#include "src/cli/topo.h"
#include "src/cli/trace.h"
#include "src/cli/verify.h"

namespace weir::cli {
namespace {

constexpr int kExitCannotRun = 127;

struct RunArguments {
  LaunchRequest request;
  std::string bind = "auto";
  std::string comm_id;
  std::string preload;  ///< "true": use weir's own library
  bool shared_heap = false;
};

void add_run(CLI::App& app, RunArguments& arguments) {
  CLI::App* run = app.add_subcommand("run", "Start a program as several ranks on this machine");
  run->prefix_command();  // arguments after the program's name belong to the program
  run->footer(
      "The program and its arguments follow the options; put -- before the program if its name begins with "
      "-.");
  run->add_option("-n,--ranks", arguments.request.ranks, "Number of ranks")
      ->required()
      ->check(CLI::Range(1, 65536));
  run->add_option(
         "--nodes", arguments.request.nodes,
         "Simulate this many hosts named node0, node1, ... with equal shares of the ranks (sets NCCL_HOSTID)")
      ->check(CLI::Range(1, 65536));
  run->add_option(
         "--bind", arguments.bind,
         "How to bind ranks to cores: core (each to its own), none, or auto (core if there are enough)")
      ->check(CLI::IsMember({"auto", "core", "none"}))
      ->capture_default_str();
  run->add_flag("--keep-going", arguments.request.keep_going,
                "Do not stop the other ranks when a signal kills one; for programs that recover (weir-train "
                "--regroup)");
  run->add_flag("--plain", arguments.request.plain,
                "Print the ranks' output unchanged, without the prefix '[rank] '");
  run->add_option("--comm-id", arguments.comm_id,
                  "NCCL_COMM_ID of the ranks: host:port, or none to leave it unset; default: a free port of "
                  "the loopback interface");
  run->add_flag(
      "--preload", arguments.preload,
      "Load weir's libnccl.so.2, or the library of --preload=PATH, before any other libnccl (LD_PRELOAD)");
  run->add_flag("--shared-heap", arguments.shared_heap,
                "Put allocations of malloc from 64 KiB on into shared memory, which the ranks of the machine "
                "read where it is (LD_PRELOAD of libweir_heap.so)");
}

int run(RunArguments arguments, std::vector<std::string> command) {
  if (command.empty())
    return report_failure("run",
                          Status(Code::invalid_argument, "no program to run; expected one after the options"),
                          kExitUsage);
  LaunchRequest& request = arguments.request;
  if (request.nodes > request.ranks) {
    return report_failure(
        "run",
        Status(Code::invalid_argument, fmt::format("--nodes is {}; expected at most the number of ranks, {}",
                                                   request.nodes, request.ranks)),
        kExitUsage);
  }
  request.command = std::move(command);
  if (arguments.comm_id == "none")
    request.comm_id = "";
  else if (!arguments.comm_id.empty())
    request.comm_id = arguments.comm_id;
  if (arguments.bind == "core") request.bind = BindMode::core;
  if (arguments.bind == "none") request.bind = BindMode::none;
  if (arguments.preload == "true") {
    Result<std::string> library = find_nccl_library();
    if (!library.ok()) return report_failure("run", library.status(), kExitUsage);
    arguments.preload = *library;
  }
  request.preload = arguments.preload;
  if (arguments.shared_heap) {
    Result<std::string> library = find_heap_library();
    if (!library.ok()) return report_failure("run", library.status(), kExitUsage);
    request.heap = *library;
  }
  Result<int> code = Launcher(std::move(request)).run();
  return code.ok() ? *code : report_failure("run", code.status(), kExitCannotRun);
}

int print_options() {
  const Options defaults;
  fmt::print("{:<32} {:<10} {:<22} {}\n", "name", "type", "default", "meaning");
  for (const OptionRow& row : option_table()) {
    std::string value = value_text(defaults, row);
    fmt::print("{:<32} {:<10} {:<22} {}\n", row.name, type_name(row), value.empty() ? "-" : value, row.help);
  }
  return 0;
}

}  // namespace
}  // namespace weir::cli

int main(int argc, char** argv) {
  CLI::App app("weir: collective communication with a topology-aware planner", "weir");
  app.set_version_flag("--version", "weir " WEIR_VERSION);
  app.require_subcommand(1);
  weir::cli::RunArguments arguments;
  weir::cli::add_run(app, arguments);
  weir::cli::TopoArguments topo;
  weir::cli::add_topo(app, topo);
  weir::cli::PlanArguments plan;
  weir::cli::add_plan(app, plan);
  weir::cli::ExplainArguments explain;
  weir::cli::add_explain(app, explain);
  weir::cli::SimArguments sim;
  weir::cli::add_sim(app, sim);
  weir::cli::VerifyArguments verify;
  weir::cli::add_verify(app, verify);
  weir::cli::OrderArguments order;
  weir::cli::add_order(app, order);
  weir::cli::MeasureArguments measure;
  weir::cli::add_measure(app, measure);
  weir::cli::MetricsArguments metrics;
  weir::cli::add_metrics(app, metrics);
  weir::cli::PsArguments ps;
  weir::cli::add_ps(app, ps);
  weir::cli::TopArguments top;
  weir::cli::add_top(app, top);
  weir::cli::TraceArguments trace;
  weir::cli::add_trace(app, trace);
  app.add_subcommand("options",
                     "Print all environment variables that weir reads, with type, default and meaning");
  // Arguments after the first -- belong to the program that `weir run` starts.
  char** const end =
      std::find_if(argv, argv + argc, [](const char* word) { return std::string_view(word) == "--"; });
  try {
    app.parse(static_cast<int>(end - argv), argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : weir::cli::kExitUsage;
  }
  if (app.got_subcommand("options")) return weir::cli::print_options();
  if (app.got_subcommand("topo")) return weir::cli::run_topo(topo);
  if (app.got_subcommand("order")) return weir::cli::run_order(order);
  if (app.got_subcommand("measure")) return weir::cli::run_measure(measure);
  if (app.got_subcommand("metrics")) return weir::cli::run_metrics(metrics);
  if (app.got_subcommand("ps")) return weir::cli::run_ps(ps);
  if (app.got_subcommand("top")) return weir::cli::run_top(top);
  if (app.got_subcommand("trace")) return weir::cli::run_trace(trace);
  if (app.got_subcommand("plan")) return weir::cli::run_plan(plan);
  if (app.got_subcommand("explain")) return weir::cli::run_explain(explain);
  if (app.got_subcommand("sim")) return weir::cli::run_sim(sim);
  if (app.got_subcommand("verify")) return weir::cli::run_verify(verify);
  if (app.got_subcommand("doctor")) return weir::cli::run_doctor(topo);
  std::vector<std::string> command = app.get_subcommand("run")->remaining();
  if (end != argv + argc) command.insert(command.end(), end + 1, argv + argc);
  return weir::cli::run(arguments, std::move(command));
}
