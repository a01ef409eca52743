// SPDX-License-Identifier: Apache-2.0
/// One instruction of a program, and the places that it reads and writes. Kernels use the same structs.
/// Tests: tests/exec/lower_test.cc, tests/exec/direct_test.cc
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

/// The passes in which a lane executes a signal or a wait; moves are executed in every pass.
enum class PassFilter : uint32_t { every, first, last };

/// One instruction.
struct alignas(32) Step {
  Op op = Op::move;
  uint8_t sources = 0;
  uint8_t destinations = 0;
  bool completes = false;     ///< the move makes the final sum; integer averages are divided here
  uint32_t chunks = 1;        ///< move: number of consecutive chunks; wait: number of messages
  uint16_t src[kFanIn] = {};  ///< indices into Program::places
  uint16_t dst[kFanOut] = {};
  uint32_t chunk = 0;  ///< first chunk; the bias of a place is added
  uint32_t part = 0;   ///< move: number of the first chunk in its block; else a PassFilter
};
static_assert(sizeof(Step) == 32);

/// Whether a signal or wait is executed in a pass. `first`, `last`: whether it is the lane's first or last
/// pass.
constexpr bool is_due(const Step& step, bool first, bool last) {
  const auto passes = static_cast<PassFilter>(step.part);
  return passes == PassFilter::every || (passes == PassFilter::first && first) ||
         (passes == PassFilter::last && last);
}

/// A place that a step reads or writes.
struct Place {
  enum class Kind : uint8_t { input, output, scratch, peer_scratch, peer_input, peer_output, receive, send };
  Kind kind = Kind::input;
  int32_t bias = 0;    ///< number added to Step::chunk
  uint32_t index = 0;  ///< index of the channel (receive, send) or of the rank (peer_...)

  bool operator==(const Place&) const = default;
};

}  // namespace weir::exec
