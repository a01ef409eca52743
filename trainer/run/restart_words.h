// SPDX-License-Identifier: Apache-2.0
/// What a run that was asked to stop says at its end: where its state is, and the command that goes on.
/// Tests: tests/trainer/stop_signals_test.cc
#pragma once

#include <span>
#include <string>

#include "trainer/run/settings.h"
#include "trainer/run/train.h"

namespace weir::trainer {

/// The words of a command as a shell reads them: those with other characters than letters, digits and
/// `@%+=:,./_-` are quoted.
std::string shell_words(std::span<const char* const> words);

/// One line or two. `command`: the program and its arguments. `launched`: another program has started the
/// ranks, which must do so again.
std::string restart_words(const RunEnd& ending, const Settings& settings,
                          std::span<const char* const> command, bool launched);

}  // namespace weir::trainer
