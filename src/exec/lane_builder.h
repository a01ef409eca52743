// SPDX-License-Identifier: Apache-2.0
/// Builds the lanes of one rank's program: fuses halves of moves into steps. Used only by lower().
/// Tests: tests/exec/lower_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/ir/plan.h"
#include "src/base/status.h"
#include "src/exec/lower.h"
#include "src/exec/program.h"

namespace weir::exec {

/// The places and channels of a program, each listed once.
class ProgramTables {
 public:
  explicit ProgramTables(Program& program) : program_(program) {}
  uint32_t channel(Rank peer, uint32_t number, bool outgoing, uint32_t chunks);
  uint16_t place(const Place& place);

 private:
  Program& program_;
};

/// One lane under construction. Halves are added in list order; the step being fused stays open until a half
/// does not fit into it.
class LaneBuilder {
 public:
  /// A place with its absolute chunk number.
  struct Site {
    Place::Kind kind;
    uint32_t index;  ///< index of the channel or rank, as in Place
    uint32_t chunk;
  };

  LaneBuilder(ProgramTables& tables, uint32_t spill_chunk) : tables_(tables), spill_chunk_(spill_chunk) {}

  /// Adds the half of move `id` that makes its value on this rank, with new bytes from `source`.
  Status arrive(uint32_t id, const ir::Plan& plan, const Site& source, const Fact& fact);
  /// Adds the half of move `id` that brings the chunks of its `from` to `target`: a channel, or memory of a
  /// peer.
  Status depart(uint32_t id, const ir::Plan& plan, const Site& target, const Fact& fact);
  void signal(uint32_t channel, PassFilter passes = PassFilter::every);
  void wait(uint32_t channel, uint32_t messages, PassFilter passes = PassFilter::every);
  /// The finished steps; an error if a value is never used.
  Result<std::vector<Step>> take();

 private:
  static constexpr int64_t kNoValue = -1;
  struct Open {
    std::vector<Site> sources;
    std::vector<Site> destinations;
    int64_t value = kNoValue;  ///< move whose value this step makes; kNoValue: a plain copy of a place
    uint32_t chunks = 1;
    Fact fact;
  };

  void begin(const Site& source, int64_t value, uint32_t chunks, const Fact& fact);
  void add_source(const Site& site);
  void add_destination(const Site& site);
  void spill();
  void close();
  Step encode(const Open& open);

  ProgramTables& tables_;
  uint32_t spill_chunk_;
  int64_t useless_ = kNoValue;
  std::vector<Step> steps_;
  std::vector<Open> open_;  ///< the open step: none or one
};

}  // namespace weir::exec
