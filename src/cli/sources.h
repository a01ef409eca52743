// SPDX-License-Identifier: Apache-2.0
/// Gets a topology from files, one-line descriptions, this machine or a recorded one.
/// Tests: tests/cli/topo_test.cc
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/drivers/machine.h"
#include "topology/detect/detect.h"

namespace CLI {
class App;
}

namespace weir::cli {

struct Sources {
  /// Topology files, or one-line machine descriptions such as "(8 gpu nvswitch 450, 8 nic 50)"; several are
  /// merged.
  std::vector<std::string> files;
  std::string record;  ///< folder to record into; empty: do not record
  std::string replay;  ///< folder of a recorded machine; empty: this machine
  bool strict = false;
  bool why = false;
  bool subnet = false;
  std::string lldp_socket;
};

/// Adds the options and operands of a subcommand.
void add_sources(CLI::App* command, Sources& sources);

/// Detects or reads the topology. `machine` stays null if it comes from files.
Result<topology::Detected> look(const Sources& sources, std::unique_ptr<drivers::Machine>& machine);

/// Prints doubts to standard error; with --why all findings.
void print_findings(const topology::Detected& detected, const Sources& sources);

}  // namespace weir::cli
