// SPDX-License-Identifier: Apache-2.0
/// Where commands take a topology from: files, lines, this machine or a recorded one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/drivers/machine.h"
#include "topology/detect/detect.h"
#include "weir/status.h"

namespace CLI {
class App;
}

namespace weir::cli {

struct Sources {
  /// Topology files, or synthetic machines such as "(8 gpu nvswitch 450, 8 nic 50)"; several are merged.
  std::vector<std::string> files;
  std::string record;  ///< folder
  std::string replay;  ///< folder
  bool strict = false;
  bool why = false;
  bool subnet = false;
  std::string lldp_socket;
};

/// Options and operands of a subcommand.
void add_sources(CLI::App* command, Sources& sources);

/// What they name. `machine` stays null where that is a file.
Result<topology::Detected> look(const Sources& sources, std::unique_ptr<drivers::Machine>& machine);

/// To standard error: doubts, and with --why all.
void print_findings(const topology::Detected& detected, const Sources& sources);

}  // namespace weir::cli
