// SPDX-License-Identifier: Apache-2.0
/// Calls the program weir as its users do.
#pragma once

#include <string>

#include "tests/cli/command.h"

#ifndef WEIR_PROGRAM  // where the build put it
#define WEIR_PROGRAM "weir"
#endif

namespace weir::testing {

/// What it prints, on standard error as well.
inline CommandResult weir_command(const std::string& arguments) {
  return run_command("'" WEIR_PROGRAM "' " + arguments + " 2>&1");
}

}  // namespace weir::testing
