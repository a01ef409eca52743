// SPDX-License-Identifier: Apache-2.0
// The weir command.
#include <fmt/format.h>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <system_error>
#include <vector>

#include "src/base/options.h"
#include "src/cli/explain.h"
#include "src/cli/failure.h"
#include "src/cli/help_page.h"
#include "src/cli/host_list.h"
#include "src/cli/launch_part.h"
#include "src/cli/launcher.h"
#include "src/cli/library.h"
#include "src/cli/machine_page.h"
#include "src/cli/measure.h"
#include "src/cli/metrics.h"
#include "src/cli/order.h"
#include "src/cli/plan.h"
#include "src/cli/pretended_launch.h"
#include "src/cli/printed_file.h"
#include "src/cli/ps.h"
#include "src/cli/rank_processes.h"
#include "src/cli/remote_launch.h"
#include "src/cli/sim.h"
#include "src/cli/top.h"
#include "src/cli/topo.h"
#include "src/cli/trace.h"
#include "src/cli/verify.h"

namespace weir::cli {
namespace {

constexpr int kExitCannotRun = 127;
constexpr const char* kMachineTopic = "machine";  ///< of `weir help`: no command

struct RunArguments {
  LaunchRequest request;
  std::string bind = "auto";
  std::string comm_id;
  std::string preload;  ///< "true": use weir's own library
  bool shared_heap = false;
  int grace = 10;         ///< seconds
  std::string pretended;  ///< the cluster that ranks pretend to run on; empty: none
  std::string hosts;      ///< empty: this machine
  std::string remote_shell = kRemoteShell;
  bool part = false;  ///< a remote shell has started this process
  int ranks = 0;      ///< 0: not given
};

void add_run(CLI::App& app, RunArguments& arguments) {
  CLI::App* run =
      app.add_subcommand("run", "Start a program as several ranks, on this machine or on several");
  run->prefix_command();  // arguments after the program's name belong to the program
  run->footer(
      "The program and its arguments follow the options; put -- before the program if its name begins with "
      "-.");
  CLI::Option* const ranks = run->add_option("-n,--ranks", arguments.ranks, "Number of ranks");
  ranks->check(CLI::Range(1, 65536));
  CLI::Option* const hosts = run->add_option(
      "--hosts", arguments.hosts,
      "Hosts that a remote shell reaches, each with its number of ranks, such as node1:4,node2:4; without "
      "numbers, equal shares of -n, or one rank each. The program, its folder and weir need the same paths "
      "on all");
  run->add_option("--rsh", arguments.remote_shell, "Remote shell of --hosts, with its options")
      ->needs(hosts)
      ->capture_default_str();
  run->add_flag("--part", arguments.part)->group("");  // for --hosts
  CLI::Option* const nodes = run->add_option(
      "--nodes", arguments.request.nodes,
      "Simulate this many hosts named node0, node1, ... with equal shares of the ranks (sets NCCL_HOSTID)");
  nodes->check(CLI::Range(1, 65536))->excludes(hosts);
  run->add_option(
         "--bind", arguments.bind,
         "How to bind ranks to cores: core (each to its own), none, or auto (core if there are enough)")
      ->check(one_of({"auto", "core", "none"}))
      ->capture_default_str();
  run->add_flag("--keep-going", arguments.request.policy.keep_going,
                "Do not stop the other ranks when a signal kills one; for programs that recover (weir-train "
                "--regroup)");
  run->add_option(
         "--grace", arguments.grace,
         "Seconds from a signal to weir run, which passes it on, until ranks that have not ended are "
         "killed; 0: no limit")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  run->add_flag("--plain", arguments.request.plain,
                "Print the ranks' output unchanged, without the prefix '[rank] '");
  run->add_option("--comm-id", arguments.comm_id,
                  "NCCL_COMM_ID of the ranks: host:port, or none to leave it unset; default: a free port of "
                  "the loopback interface, or with --hosts a port of the first one");
  run->add_flag(
      "--preload", arguments.preload,
      "Load weir's libnccl.so.2, or the library of --preload=PATH, before any other libnccl (LD_PRELOAD)");
  run->add_option(
         "--pretend", arguments.pretended,
         "Pretend that rank i is GPU i of the cluster that this topology file, or machine in one line, "
         "describes: times are simulated, and stand-ins of CUDA's libraries are loaded, so that programs "
         "for GPUs run without any (sets WEIR_PRETEND)")
      ->excludes(nodes)
      ->excludes(hosts);
  run->add_flag("--shared-heap", arguments.shared_heap,
                "Put allocations of malloc from 64 KiB on into shared memory, which the ranks of the machine "
                "read where it is (LD_PRELOAD of libweir_heap.so)");
}

int launch(const LaunchPolicy& policy, Result<std::vector<LaunchedProcess>> processes) {
  if (!processes.ok()) return report_failure("run", processes.status(), kExitCannotRun);
  const Result<int> code = Launcher(std::move(*processes), policy).run();
  return code.ok() ? *code : report_failure("run", code.status(), kExitCannotRun);
}

/// This host's part of what weir run --hosts started.
int run_part() {
  const auto request = read_part(STDIN_FILENO);
  if (!request.ok()) return report_failure("run", request.status(), kExitCannotRun);
  return launch(request->policy, rank_processes(*request));
}

int run(RunArguments arguments, std::vector<std::string> command) {
  if (arguments.part) return run_part();
  if (command.empty())
    return report_failure("run",
                          Status(Code::invalid_argument, "no program to run; expected one after the options"),
                          kExitUsage);
  LaunchRequest& request = arguments.request;
  request.ranks = arguments.ranks;
  std::vector<HostRanks> hosts;
  if (!arguments.hosts.empty()) {
    auto read = read_hosts(arguments.hosts, arguments.ranks);
    if (!read.ok()) return report_failure("run", read.status(), kExitUsage);
    hosts = std::move(*read);
  } else if (arguments.ranks == 0) {
    return report_failure(
        "run",
        Status(Code::invalid_argument, "the number of ranks is missing; expected -n RANKS, or --hosts"),
        kExitUsage);
  }
  if (hosts.empty() && request.nodes > request.ranks) {
    return report_failure(
        "run",
        Status(Code::invalid_argument, fmt::format("--nodes is {}; expected at most the number of ranks, {}",
                                                   request.nodes, request.ranks)),
        kExitUsage);
  }
  request.command = std::move(command);
  request.policy.grace = std::chrono::seconds(arguments.grace);
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
  if (!arguments.pretended.empty()) {
    const Status pretends = pretend(arguments.pretended, request);
    if (!pretends.ok()) return report_failure("run", pretends, kExitUsage);
  }
  if (arguments.shared_heap) {
    Result<std::string> library = find_heap_library();
    if (!library.ok()) return report_failure("run", library.status(), kExitUsage);
    request.heap = *library;
  }
  return launch(request.policy, hosts.empty() ? rank_processes(request)
                                              : host_processes(request, hosts, arguments.remote_shell));
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

int print_options_page() {
  fmt::print("{}", options_page());
  return 0;
}

/// The arguments of all commands.
struct Arguments {
  RunArguments run;
  TopoArguments topo;
  PlanArguments plan;
  ExplainArguments explain;
  SimArguments sim;
  VerifyArguments verify;
  OrderArguments order;
  MeasureArguments measure;
  MetricsArguments metrics;
  PsArguments ps;
  TopArguments top;
  TraceArguments trace;
  bool markdown = false;  ///< of `weir options` and `weir help`
  std::string about;      ///< of `weir help`
  std::string folder;     ///< of `weir manual`
  std::string output;     ///< of every command
};

void add_commands(CLI::App& app, Arguments& arguments) {
  add_run(app, arguments.run);
  add_topo(app, arguments.topo);
  add_plan(app, arguments.plan);
  add_explain(app, arguments.explain);
  add_sim(app, arguments.sim);
  add_verify(app, arguments.verify);
  add_order(app, arguments.order);
  add_measure(app, arguments.measure);
  add_metrics(app, arguments.metrics);
  add_ps(app, arguments.ps);
  add_top(app, arguments.top);
  add_trace(app, arguments.trace);
  app.add_subcommand("options",
                     "Print all environment variables that weir reads, with type, default and meaning")
      ->add_flag("--markdown", arguments.markdown, "Print as a page in Markdown (docs/options.md)");
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  names.push_back("help");
  names.emplace_back(kMachineTopic);
  CLI::App* const help = app.add_subcommand("help", "Print the options of a command, with examples");
  help->add_option("command", arguments.about,
                   "The command, or machine: how to describe a machine in a line; default: the list of all")
      ->check(one_of(std::move(names)));
  help->add_flag("--markdown", arguments.markdown,
                 "Print help machine as a page in Markdown (docs/machine.md)");
  app.add_subcommand("manual", "Write man pages and the completion of bash below a folder")
      ->group("")  // for the build
      ->add_option("folder", arguments.folder, "The folder")
      ->required();
  complete_commands(app, arguments.output);
}

int print_help(const CLI::App& app, const std::string& about, bool markdown) {
  if (markdown && about != kMachineTopic)
    return report_failure(
        "help", Status(Code::invalid_argument, "--markdown is for help machine; expected no other command"),
        kExitUsage);
  fmt::print("{}", about == kMachineTopic ? (markdown ? machine_page() : machine_help())
                   : about.empty()        ? app.help()
                                          : app.get_subcommand(about)->help(app.get_name()));
  return 0;
}

int write_manual_or_fail(const CLI::App& app, const std::string& folder) {
  const Status written = write_manual(app, folder);
  return written.ok() ? 0 : report_failure("manual", written, 1);
}

/// Runs the command that was parsed; `program` is that of `weir run`.
int run_command(CLI::App& app, Arguments& arguments, std::vector<std::string> program) {
  const std::map<std::string, std::function<int()>> commands = {
      {"run", [&] { return run(arguments.run, std::move(program)); }},
      {"topo", [&] { return run_topo(arguments.topo); }},
      {"doctor", [&] { return run_doctor(arguments.topo); }},
      {"plan", [&] { return run_plan(arguments.plan); }},
      {"explain", [&] { return run_explain(arguments.explain); }},
      {"sim", [&] { return run_sim(arguments.sim); }},
      {"verify", [&] { return run_verify(arguments.verify); }},
      {"order", [&] { return run_order(arguments.order); }},
      {"measure", [&] { return run_measure(arguments.measure); }},
      {"metrics", [&] { return run_metrics(arguments.metrics); }},
      {"ps", [&] { return run_ps(arguments.ps); }},
      {"top", [&] { return run_top(arguments.top); }},
      {"trace", [&] { return run_trace(arguments.trace); }},
      {"options", [&] { return arguments.markdown ? print_options_page() : print_options(); }},
      {"help", [&] { return print_help(app, arguments.about, arguments.markdown); }},
      {"manual", [&] { return write_manual_or_fail(app, arguments.folder); }},
  };
  const std::string name = app.get_subcommands()[0]->get_name();
  try {
    const int status = print_to(arguments.output, name, commands.at(name));
    if (std::fflush(stdout) == 0) return status;
    const std::string words = std::string("the output could not be written: ") + std::strerror(errno);
    return report_failure(name, Status(Code::system_error, words), 1);
  } catch (const std::system_error& failed) {  // of fmt, which cannot write; nor may it write this
    std::fprintf(stderr, "weir %s: %s\n", name.c_str(), failed.what());
    return 1;
  }
}

}  // namespace
}  // namespace weir::cli

int main(int argc, char** argv) {
  CLI::App app("Collective communication with a topology-aware planner", "weir");
  app.set_version_flag("--version", "weir " WEIR_VERSION, "Print the version and exit");
  app.require_subcommand(1);
  weir::cli::Arguments arguments;
  weir::cli::add_commands(app, arguments);
  // Arguments after the first -- belong to the program that `weir run` starts.
  char** const end =
      std::find_if(argv, argv + argc, [](const char* word) { return std::string_view(word) == "--"; });
  if (const auto unknown = weir::cli::unknown_word(app, {argv + 1, std::max(end, argv + 1)})) {
    fmt::print(stderr, "weir: {}\nweir --help lists the commands, weir help COMMAND its options.\n",
               *unknown);
    return weir::cli::kExitUsage;
  }
  try {
    app.parse(static_cast<int>(end - argv), argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : weir::cli::kExitUsage;
  }
  std::vector<std::string> program = app.get_subcommand("run")->remaining();
  if (end != argv + argc) program.insert(program.end(), end + 1, argv + argc);
  return weir::cli::run_command(app, arguments, std::move(program));
}
