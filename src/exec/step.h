// SPDX-License-Identifier: Apache-2.0
/// One instruction of a program, and where it reads and writes: what kernels see of a program, too.
#pragma once

#include <cstdint>

namespace weir::exec {

enum class Op : uint8_t {
  move,    ///< fold the sources, left to right, into every destination
  signal,  ///< put an empty message into a channel
  wait,    ///< take empty messages out of a channel
};

inline constexpr int kFanIn = 4;
inline constexpr int kFanOut = 4;

/// In which of its passes a lane carries out a signal or a wait; moves are of every pass.
enum class PassFilter : uint32_t { every, first, last };

/// One instruction.
struct alignas(32) Step {
  Op op = Op::move;
  uint8_t sources = 0;
  uint8_t destinations = 0;
  bool completes = false;     ///< the move makes the final sum: averages of integers divide here
  uint32_t chunks = 1;        ///< consecutive chunks moved; messages waited for
  uint16_t src[kFanIn] = {};  ///< indices into Program::places
  uint16_t dst[kFanOut] = {};
  uint32_t chunk = 0;  ///< first chunk; a place adds its bias
  uint32_t part = 0;   ///< which part of a block the first chunk is: decides its length; else a PassFilter
};
static_assert(sizeof(Step) == 32);

/// Whether a signal or wait is of a pass. `first`, `last`: whether it is the lane's.
constexpr bool is_due(const Step& step, bool first, bool last) {
  const auto passes = static_cast<PassFilter>(step.part);
  return passes == PassFilter::every || (passes == PassFilter::first && first) ||
         (passes == PassFilter::last && last);
}

/// Where a step reads or writes.
struct Place {
  enum class Kind : uint8_t { input, output, scratch, peer_scratch, peer_input, peer_output, receive, send };
  Kind kind = Kind::input;
  int32_t bias = 0;    ///< added to Step::chunk
  uint32_t index = 0;  ///< channel (receive, send), or rank (peer_...)

  bool operator==(const Place&) const = default;
};

}  // namespace weir::exec
