// SPDX-License-Identifier: Apache-2.0
/// One round of chaos: a world, what it does, and what happens to one of its ranks. All of it follows from a
/// seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weir::testing {

/// What happens to the victim.
enum class Injury : uint8_t {
  none,    ///< nothing: all end well
  delay,   ///< stopped for less than any deadline, then it goes on: all end well
  kill,    ///< SIGKILL
  stop,    ///< SIGSTOP
  absent,  ///< it lives, but stops making calls
  starve,  ///< its address space is exhausted: its calls may fail, its process may end
  cut,     ///< its host is cut off from the network
};
constexpr int kInjuries = 7;
const char* name_of(Injury injury);

struct Call {
  int kind = 0;  ///< 0 to kCallKinds
  int root = 0;
  size_t count = 0;
};
constexpr int kCallKinds = 6;

struct Round {
  uint64_t seed = 0;
  int ranks = 2;
  int hosts = 1;           ///< > 1: namespaces with a link each; ranks are dealt out in blocks
  std::string transports;  ///< WEIR_TRANSPORTS
  bool fast = true;        ///< WEIR_FAST
  Injury injury = Injury::none;
  int victim = 0;
  int moment_us = 0;        ///< after the ranks have begun to join, for what is done from outside
  int last_call = 0;        ///< of absent and starve: the victim makes so many calls before
  int group = 0;            ///< > 0: calls go by communicators of so many consecutive ranks, and across them
  bool calm = false;        ///< the limits of the library are the default ones
  bool shrinks = false;     ///< likewise by one that is shrunk by its last rank
  std::vector<Call> calls;  ///< made in turn; again and again where the world does not end well

  /// `lab`: several hosts, and so cuts, are possible.
  static Round of(uint64_t seed, bool lab);
  /// Without an injury: 2 to 64 ranks on two hosts, 20 calls, and the default limits of the library.
  static Round calm_of(uint64_t seed, bool lab);
  int host_of(int rank) const { return rank * hosts / ranks; }
  bool ends_well() const { return injury == Injury::none || injury == Injury::delay; }
  std::string text() const;
};

}  // namespace weir::testing
