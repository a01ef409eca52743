// SPDX-License-Identifier: Apache-2.0
/// The timeline of one rank: a stretch of time on one of its rows.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::trainer {

/// The rows of a rank: its own thread, the streams of gathers and of reductions, and the traffic between
/// parts of a model: moves from stage to stage, sums over slices.
enum class Row : uint8_t { computing, gathers, reductions, parts };
inline constexpr std::array<std::string_view, 4> kRowNames = {"computing", "gathers", "reductions", "parts"};

enum class Phase : uint8_t { forward, backward, update, wait, gather, reduce, move, sum };
inline constexpr std::array<std::string_view, 8> kPhaseNames = {"forward", "backward", "update", "wait",
                                                                "gather",  "reduce",   "move",   "sum"};

/// Plain data: ranks send it to each other as bytes.
struct Span {
  int64_t begin_ns = 0;  ///< time of the system clock, which hosts synchronise
  int64_t nanoseconds = 0;
  int32_t step = 0;   ///< step number, from 0
  int16_t unit = -1;  ///< index of the unit; -1: none
  Row row = Row::computing;
  Phase phase = Phase::forward;
};
static_assert(sizeof(Span) == 24);

/// The timelines of all ranks.
struct Timeline {
  std::vector<std::vector<Span>> spans;  ///< index: rank
  std::vector<std::string> units;        ///< unit names
};

}  // namespace weir::trainer
