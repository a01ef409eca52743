// SPDX-License-Identifier: Apache-2.0
/// The signals that ask a run to stop: SIGTERM, SIGINT, and SIGUSR1, by which Slurm warns of the time limit.
///
/// A handler only notes them. The ranks agree on the step after which they stop by votes, which are added up
/// over the ranks together with the numbers of tokens of each step: it does not matter which ranks got a
/// signal, and when.
/// Tests: tests/trainer/stop_signals_test.cc, tests/trainer/signals_test.py
#pragma once

#include <cstdint>

namespace weir::trainer {

/// While an object exists, the signals are noted instead of ending the process; those that are ignored or
/// handled otherwise stay so. SIGTERM or SIGINT a second or more after the first of these two end the
/// process at once, as they do without an object; earlier ones count as the same request, as launchers pass
/// on what a terminal sends as well. SIGUSR1 is only a warning: SIGTERM after it is the first one. One object
/// at a time; the noted signal remains after its end.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
};

/// What this process adds to the sum of votes: 0 if no signal was noted.
uint64_t stop_vote();
/// The signal to stop for, given the sum of the votes of all ranks, up to 2^16 ranks: SIGTERM before SIGINT
/// before SIGUSR1 if they have different ones; 0: no rank asks for it.
int signal_of(uint64_t votes);
/// What a rank adds to the same sum if processes wait at its listener (newcomer_listener.h), and whether one
/// has.
inline constexpr uint64_t kJoinVote = uint64_t{1} << 48;
inline bool asks_to_join(uint64_t votes) { return votes >= kJoinVote; }
/// Forgets what was noted.
void forget_stop_signals();
/// From now on the signals are ignored, for the end of a run that has stopped: launchers that see the first
/// rank end signal the others.
void ignore_stop_signals();

}  // namespace weir::trainer
