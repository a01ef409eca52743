// SPDX-License-Identifier: Apache-2.0

#include "src/cli/measure.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>

#include "src/base/host.h"
#include "src/base/options.h"
#include "src/base/output_file.h"
#include "src/cli/failure.h"
#include "src/cli/measured_words.h"
#include "src/core/communicator/runtime.h"
#include "topology/formats/fabric_file.h"
#include "topology/model/check.h"
#include "weir/launched.h"

namespace weir::cli {
namespace {

Status no_launcher() {
  return {Code::invalid_usage,
          "neither the rank nor the number of processes is known; expected a launcher that starts one "
          "process per host (mpirun, srun, ...), or RANK and WORLD_SIZE in the environment"};
}

Status show(const topology::Measured& measured, const std::string& out) {
  const topology::MeasuredLeaves found = topology::find_leaves(measured);
  fmt::print("{}", measured_words(measured, found));
  if (out.empty()) return {};
  const topology::Graph graph = topology::graph_of(measured, found);
  WEIR_TRY(topology::check(graph));
  return write_output_file(out, topology::write_fabric_file(topology::fabric_of(graph)) +
                                    fmt::format("# measured: {}\n", verdict_words(found)));
}

}  // namespace

void add_measure(CLI::App& app, MeasureArguments& arguments) {
  CLI::App* measure = app.add_subcommand(
      "measure", "Detect which hosts share a leaf switch, from latency and bandwidth between them");
  measure->footer(
      "Start it once on each host: by mpirun, srun or another launcher, or with RANK, WORLD_SIZE and\n"
      "NCCL_COMM_ID (host:port of rank 0). The network must carry no other traffic.");
  measure->add_option("-o,--out", arguments.out, "Fabric file (docs/fabric-file.md) that rank 0 writes");
  measure
      ->add_option("--seconds-per-round", arguments.plan.seconds_per_round,
                   "How long each pair sends and receives in each round")
      ->check(CLI::Range(0.01, 60.0))
      ->capture_default_str();
  measure
      ->add_option("--repeat", arguments.plan.repetitions,
                   "Number of times that all pairs are measured; default: 3 to 10, more for fewer hosts")
      ->check(CLI::Range(3, 1000));
}

int run_measure(const MeasureArguments& arguments) {
  const std::optional<Launched> launched = find_launched([](const char* name) { return std::getenv(name); });
  if (!launched) return report_failure("measure", no_launcher(), kExitUsage);
  if (!launched->wrong.empty())
    return report_failure("measure", {Code::invalid_usage, launched->wrong}, kExitUsage);
  if (launched->rank == 0 && !arguments.out.empty()) {  // minutes later would be late
    if (const Status possible = try_output_file(arguments.out); !possible.ok())
      return report_failure("measure", possible, kExitUsage);
  }
  Options options = Options::from_environment();
  configure_log(options.log);
  if (options.comm_id.empty()) {
    return report_failure(
        "measure",
        {Code::invalid_usage,
         "NCCL_COMM_ID is not set; expected host:port, an address of rank 0 that all hosts can connect to"},
        kExitUsage);
  }
  core::Runtime runtime(std::move(options));
  const Result<core::UniqueId> id = runtime.make_unique_id();
  if (!id.ok()) return report_failure("measure", id.status(), kExitUsage);
  core::Communicator ranks(runtime, core::IdOrigin{id.value(), launched->size, launched->rank},
                           core::Config());
  if (const Status status = ranks.connect(); !status.ok()) return report_failure("measure", status, 1);
  const Result<topology::Measured> measured = measure_network(ranks, runtime, arguments.plan);
  if (!measured.ok()) return report_failure("measure", measured.status(), 1);
  if (measured.value().hosts.empty()) return 0;
  const Status shown = show(measured.value(), arguments.out);
  return shown.ok() ? 0 : report_failure("measure", shown, 1);
}

}  // namespace weir::cli
