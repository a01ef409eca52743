// SPDX-License-Identifier: Apache-2.0
/// Gets a topology from files, one-line descriptions, this machine or a recorded one.
/// Tests: tests/cli/topo_test.cc
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/drivers/machine.h"
#include "topology/detect/detect.h"
#include "topology/model/assumed_rates.h"

namespace CLI {
class App;
}

namespace weir::cli {

/// What a command does with links whose rate is unknown.
enum class MissingRates : uint8_t { keep, assume };

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
  MissingRates missing_rates = MissingRates::keep;
  std::string assume;  ///< "nvlink=25,pcie=31.5", for MissingRates::assume
};

/// Adds the options and operands of a subcommand; --assume only with MissingRates::assume, which commands
/// that compute with rates need.
void add_sources(CLI::App* command, Sources& sources, MissingRates missing_rates = MissingRates::assume);

/// Detects or reads the topology; with MissingRates::assume every link has a rate, and one of the findings
/// names what was assumed. `machine` stays null if the topology comes from files.
Result<topology::Detected> look(const Sources& sources, std::unique_ptr<drivers::Machine>& machine);

/// Prints doubts to standard error; with --why all findings.
void print_findings(const topology::Detected& detected, const Sources& sources);

}  // namespace weir::cli
