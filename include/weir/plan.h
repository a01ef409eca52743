// SPDX-License-Identifier: Apache-2.0
/// The best plan that weir knows for a collective on a topology, how far it is from the bound, and its moves.
///
///     const auto plan = weir::plan_collective(*topology, weir::Collective::all_reduce);
///     if (!plan) return complain(plan.error());
///     print(plan->algorithm(), plan->seconds(1 << 30), plan->gap(), plan->bound().sentence());
///     const auto moves = plan->moves();
///     if (moves)
///       for (const weir::Move& move : moves->list) send(move.from_rank, move.to_rank, move.from);
///
/// A Plan holds what `weir plan` prints (docs/planning.md). plan_collective() returns only plans that have
/// been checked: code that shares nothing with the planner has added up the load of each link and shown that
/// all data arrives exactly once. verify() also carries out the moves of all ranks. Times are those of long
/// messages; latencies do not count.
///
/// Every function may be called from any thread; several threads may use one const Plan at once. No function
/// throws anything but std::bad_alloc, and none prints. A Plan that is default-constructed or moved-from has
/// the time 0 and no moves. A Plan does not need its Topology any more, but the cuts of its bound hold places
/// of that topology's nodes and links. C++20.
/// Tests: tests/api/planner_api_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "weir/bound.h"
#include "weir/collective.h"
#include "weir/expected.h"
#include "weir/topology.h"

namespace weir {

/// A place in a buffer of a rank, or the value that an earlier move made at that rank.
struct Operand {
  enum class Kind : uint8_t { none, input, output, scratch, value };
  Kind kind = Kind::none;
  uint32_t index = 0;  ///< first chunk of the buffer, or the number of the move that made the value
};

/// A move takes chunks from a rank to a rank and makes a value there: `with` (+) `from`, or `from` alone
/// where there is no `with`. The moves, carried out in the order of the list, give the result
/// (docs/plan-format.md).
struct Move {
  int from_rank = 0;
  int to_rank = 0;        ///< equal to from_rank for a move within one rank
  uint32_t chunks = 1;    ///< number of consecutive chunks at `from`, `with` and `to`
  uint8_t from_lane = 0;  ///< lane that sends, 0 to 63; lanes of a rank are independent
  uint8_t to_lane = 0;    ///< lane that receives
  bool pull = false;      ///< to_rank reads the memory of from_rank
  bool push = false;      ///< from_rank writes the memory of to_rank
  Operand from;           ///< operand at from_rank
  Operand with;           ///< left operand of the reduction, at to_rank; Kind::none: a copy
  Operand to;             ///< place at to_rank that keeps the value; Kind::none: only later moves use it

  bool reduces() const { return with.kind != Operand::Kind::none; }
};

/// The moves of a plan, which belong to the plan.
struct Moves {
  List<Move> list;
  uint32_t chunks_per_block = 1;  ///< a buffer has one block, or one block per rank
  uint32_t scratch_chunks = 0;    ///< scratch of each rank, in chunks
};

enum class PlanFormat : int {
  text,      ///< the format of docs/plan-format.md
  msccl_xml  ///< the XML file of the MSCCL runtime
};

}  // namespace weir

struct weirPlan {
  const weirBound* bound = nullptr;
  const char* algorithm = "";
  const char* words = "";
  weir::Fraction seconds_per_gb;
  weir::Fraction part_of_bound;
  double bus_factor = 0;
};

extern "C" {
/* Arguments as those of weirBoundFind. Returns NULL on failure, and calls `error` with the sentence. */
const weirPlan* weirPlanFind(const weirTopology* topology, weir::Collective collective, int root,
                             const int* devices, size_t count, weirTextSink error, void* keeper);
void weirPlanFree(const weirPlan* plan);
/* Returns NULL on failure, and calls `error` with the sentence. */
const weir::Moves* weirPlanMoves(const weirPlan* plan, weirTextSink error, void* keeper);
/* Calls `text` with the plan and returns true, or with the sentence and returns false. */
bool weirPlanWrite(const weirPlan* plan, weir::PlanFormat format, weirTextSink text, void* keeper);
/* Return whether the plan is right; where it is not, call `fault` with the sentence. */
bool weirPlanVerify(const weirPlan* plan, weirTextSink fault, void* keeper);
bool weirPlanVerifyText(const char* text, size_t size, const char* name, weirTextSink fault, void* keeper);
}

namespace weir {

namespace detail {

struct FreePlan {
  void operator()(const weirPlan* plan) const { weirPlanFree(plan); }
};

}  // namespace detail

class Plan {
 public:
  Plan() = default;
  /// Takes ownership of what a C function returned.
  explicit Plan(const weirPlan* data) : data_(data), bound_(data ? data->bound : nullptr, false) {}
  Plan(Plan&&) noexcept = default;
  Plan& operator=(Plan&&) noexcept = default;

  /// The time that no plan can beat.
  const Bound& bound() const { return bound_; }
  /// Such as "trees", "hierarchical", "trees with free roots" or "rail".
  const char* algorithm() const { return data().algorithm; }
  /// Such as "4 spanning trees, at most 3 hops high".
  const char* words() const { return data().words; }

  /// T / M: the exact number of seconds for 1e9 bytes of M that the loads of the links allow; not simulated.
  const Fraction& seconds_per_gb() const { return data().seconds_per_gb; }
  double seconds(double bytes) const { return bytes / 1e9 * seconds_per_gb().value; }
  /// M / T, which nccl-tests call algbw, and the busbw that follows from it; 0 where the time is 0.
  double gb_per_s() const { return seconds_per_gb().value > 0 ? 1 / seconds_per_gb().value : 0; }
  double bus_gb_per_s() const { return gb_per_s() * data().bus_factor; }

  /// Time of the bound divided by time of the plan, exactly: at most 1; 1 means that no plan is faster.
  const Fraction& part_of_bound() const { return data().part_of_bound; }
  /// Time of the plan beyond the bound, as a share of the bound's time; 0 means that no plan is faster.
  double gap() const { return part_of_bound().value > 0 ? 1 / part_of_bound().value - 1 : 0; }

  /// The schedule, move by move. The first call makes it, in time proportional to the number of moves. Fails
  /// above 512 ranks.
  Expected<Moves> moves() const {
    std::string error;
    const Moves* const made = weirPlanMoves(data_.get(), detail::keep_text, &error);
    return made ? Expected<Moves>(*made) : Expected<Moves>::failed(std::move(error));
  }
  /// The text of a file with the schedule. Fails where moves() fails.
  Expected<std::string> write(PlanFormat format) const {
    std::string text;
    return weirPlanWrite(data_.get(), format, detail::keep_text, &text)
               ? Expected<std::string>(std::move(text))
               : Expected<std::string>::failed(std::move(text));
  }
  /// Carries out the moves of all ranks symbolically, in place and out of place, with channels of two slots,
  /// as `weir verify` does. Returns an empty string where every result is right and nothing races or
  /// deadlocks, else the sentence of the first fault. Takes time proportional to the chunks that move, times
  /// ranks / 64.
  std::string verify() const {
    std::string fault;
    weirPlanVerify(data_.get(), detail::keep_text, &fault);
    return fault;
  }

 private:
  const weirPlan& data() const {
    static constexpr weirPlan kEmpty;
    return data_ ? *data_ : kEmpty;
  }

  std::unique_ptr<const weirPlan, detail::FreePlan> data_;
  Bound bound_;
};

/// The best plan for a collective among some devices; `devices` and `root` as in lower_bound(). All-to-all,
/// gather and scatter take the algorithm of the library that loads the busiest link least, up to 512 ranks.
/// All other collectives take trees, or trees and rings over hosts, for any number of ranks. Takes 5 to 12 ms
/// for 1,200 GPUs; seconds for 100,000, and for 64 GPUs that are joined irregularly. Fails where
/// lower_bound() fails, and for too many ranks.
inline Expected<Plan> plan_collective(const Topology& topology, Collective collective, int root = 0,
                                      std::span<const int> devices = {}) {
  std::string error;
  const weirPlan* const data = weirPlanFind(topology.data(), collective, root, devices.data(), devices.size(),
                                            detail::keep_text, &error);
  return data ? Expected<Plan>(Plan(data)) : Expected<Plan>::failed(std::move(error));
}

/// As Plan::verify(), for a plan in a text of either format. Text that is no plan is a fault, too. The
/// sentence calls the text `name`.
inline std::string verify_plan(std::string_view text, const std::string& name = "the text") {
  std::string fault;
  weirPlanVerifyText(text.data(), text.size(), name.c_str(), detail::keep_text, &fault);
  return fault;
}

}  // namespace weir
