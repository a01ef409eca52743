// SPDX-License-Identifier: Apache-2.0
/// Tables of costs, planned trees and proven plans, made once and shared by a communicator's ranks of one
/// process, and, by a board, by the processes of its host.
///
/// Thread-safe. One object per communicator and process; the same key must mean the same value for all its
/// ranks.
/// Tests: tests/library/many_ranks_test.cc, tests/core/bootstrap_all_gather_test.cc
#pragma once

#include <array>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "algorithms/catalogue/planned.h"
#include "algorithms/cost/table.h"
#include "algorithms/ir/plan.h"
#include "src/base/status.h"
#include "src/exec/lower.h"

namespace weir::core {

class HostBoard;

class SharedTables {
 public:
  /// Shares tables with the other processes of the host from now on; `board` outlives this object.
  void share(HostBoard& board) { board_ = &board; }
  /// The table of `kind`, made by the first caller; valid as long as this object.
  const cost::CostTable& of(Collective kind, const std::function<cost::CostTable()>& make);

 private:
  std::mutex mutex_;
  HostBoard* board_ = nullptr;
  std::array<std::unique_ptr<const cost::CostTable>, kCollectives> tables_;
};

/// Plans for the network of a communicator (algorithms/catalogue/planned.h).
class SharedTrees {
 public:
  /// Shares them with the other processes of the host from now on; `board` outlives this object.
  void share(HostBoard& board) { board_ = &board; }
  /// Those of the network that `name` stands for, made by the first caller, or by another process of the
  /// host.
  algorithms::PlansOfNetwork of(const std::string& name, const std::function<std::vector<ir::Plan>()>& make);

 private:
  std::mutex mutex_;
  HostBoard* board_ = nullptr;
  std::map<std::string, algorithms::PlansOfNetwork> plans_;
};

/// A verified plan, and the facts that lowering needs.
struct ProvenPlan {
  ir::Plan plan;
  std::vector<exec::Fact> facts;
};

class ProvenPlans {
 public:
  /// `ranks`: number of ranks that will ask. A plan is dropped once all have got it.
  explicit ProvenPlans(int ranks) : ranks_(ranks) {}

  /// Shares plans with the other processes of the host from now on; `board` outlives this object.
  void share(HostBoard& board) { board_ = &board; }

  struct Key {
    std::string algorithm;
    ir::Shape shape;
    size_t rings = 0;  ///< number of rings of the plan's layout

    bool operator==(const Key&) const = default;
    std::string text() const;
  };
  /// The plan of `key`, made and proven by the first caller, or by another process of the host.
  Result<std::shared_ptr<const ProvenPlan>> of(const Key& key,
                                               const std::function<Result<ir::Plan>()>& make_and_prove);

 private:
  static constexpr size_t kMost = 16;  ///< limit on plans that not all ranks have got; the oldest is dropped

  struct Entry {
    Key key;
    std::shared_ptr<const ProvenPlan> plan;
    int awaited = 0;  ///< number of ranks that have not got it
  };

  const int ranks_;
  HostBoard* board_ = nullptr;
  std::mutex mutex_;
  std::list<Entry> entries_;
};

}  // namespace weir::core
