// SPDX-License-Identifier: Apache-2.0
/// What ranks of one process have in common, beyond what they told each other: tables of costs and proven
/// plans, made once.
///
/// Thread-safe. One object per communicator and process; all its ranks ask for the same under the same key.
#pragma once

#include <array>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "algorithms/cost/table.h"
#include "algorithms/ir/plan.h"
#include "src/exec/lower.h"
#include "weir/status.h"

namespace weir::core {

class SharedTables {
 public:
  /// That of `kind`, made by the first who asks; it lasts as long as this.
  const cost::Table& of(Collective kind, const std::function<cost::Table()>& make);

 private:
  std::mutex mutex_;
  std::array<std::unique_ptr<const cost::Table>, kCollectives> tables_;
};

/// A plan that is right, and what lowering it takes.
struct ProvenPlan {
  ir::Plan plan;
  std::vector<exec::Fact> facts;
};

class ProvenPlans {
 public:
  /// `ranks`: how many will ask. What all have got is forgotten.
  explicit ProvenPlans(int ranks) : ranks_(ranks) {}

  struct Key {
    std::string algorithm;
    ir::Shape shape;
    size_t rings = 0;  ///< of the layout that it is for

    bool operator==(const Key&) const = default;
  };
  /// The plan of `key`, made and proven by the first who asks.
  Result<std::shared_ptr<const ProvenPlan>> of(const Key& key,
                                               const std::function<Result<ir::Plan>()>& make_and_prove);

 private:
  static constexpr size_t kMost = 16;  ///< that not all have got: the oldest goes

  struct Entry {
    Key key;
    std::shared_ptr<const ProvenPlan> plan;
    int awaited = 0;  ///< ranks that have not got it
  };

  const int ranks_;
  std::mutex mutex_;
  std::list<Entry> entries_;
};

}  // namespace weir::core
