// SPDX-License-Identifier: Apache-2.0
/// The common part of all probes. Each probe is one function, in a file of its own.
/// Tests: tests/topology/detect_test.cc
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/drivers/machine.h"
#include "topology/detect/detect.h"

namespace weir::topology {

/// The context of a probe: it queries the machine, adds to the graph, and reports its findings.
class Probe {
 public:
  Probe(std::string name, drivers::Machine& machine, Detected& detected)
      : machine(machine),
        files(machine.files()),
        graph(detected.graph),
        name_(std::move(name)),
        detected_(detected) {}

  void found(std::string sentence) { say(Finding::Kind::found, std::move(sentence)); }
  void absent(std::string sentence) { say(Finding::Kind::absent, std::move(sentence)); }
  void doubt(std::string sentence) { say(Finding::Kind::doubt, std::move(sentence)); }

  /// The host: the first node, which detection creates.
  Index host() const { return 0; }
  /// The device of that kind at a PCI address, or kNone.
  Index at_address(NodeKind kind, const std::string& address) const;
  /// The GPU at that address. If the PCI tree does not show it, it is added to the host, or to the NUMA node
  /// with that number.
  Index gpu_at(const std::string& address, int numa = -1);

  drivers::Machine& machine;
  drivers::Files& files;
  Graph& graph;

 private:
  void say(Finding::Kind kind, std::string sentence) {
    detected_.findings.push_back({name_, kind, std::move(sentence)});
  }

  const std::string name_;
  Detected& detected_;
};

void probe_cpu(Probe& probe);
void probe_pci(Probe& probe);
void probe_nvml(Probe& probe);
void probe_kfd(Probe& probe);
void probe_rsmi(Probe& probe);
void probe_nic(Probe& probe);
void probe_host(Probe& probe);
void probe_lldp(Probe& probe, const std::string& socket);
void probe_subnet(Probe& probe);

}  // namespace weir::topology
