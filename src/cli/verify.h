// SPDX-License-Identifier: Apache-2.0
/// weir verify: whether plans in files do what they say.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace weir::cli {

struct VerifyArguments {
  std::vector<std::string> files;
  uint32_t slots = 2;  ///< of each channel
};

void add_verify(CLI::App& app, VerifyArguments& arguments);
/// The exit code: 0 all are right, 1 one is wrong, 2 one cannot be read.
int run_verify(const VerifyArguments& arguments);

}  // namespace weir::cli
