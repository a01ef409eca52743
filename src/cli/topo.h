// SPDX-License-Identifier: Apache-2.0
/// weir topo: shows this machine, a recorded one, or the topology in a file. weir doctor: reports what is
/// wrong with it.
/// Tests: tests/cli/topo_test.cc
#pragma once

#include <string>

#include "src/cli/sources.h"

namespace CLI {
class App;
}

namespace weir::cli {

struct TopoArguments {
  Sources sources;
  bool matrix = false;
  bool json = false;
  bool xml = false;
  bool fabric = false;
  bool svg = false;
  bool html = false;
};

/// Adds the subcommands topo and doctor.
void add_topo(CLI::App& app, TopoArguments& arguments);
/// Return the exit codes; run_doctor returns 1 if something is wrong.
int run_topo(const TopoArguments& arguments);
int run_doctor(const TopoArguments& arguments);

}  // namespace weir::cli
