// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "src/base/spelling.h"

namespace weir::trainer {
namespace {

/// Types of options as users write their values: "{fp32,bf16}" for "ENUM:value in {fp32->0,bf16->1} OR
/// {0,1}".
class PlainFormatter final : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text = CLI::Formatter::make_option_opts(option);
    text = std::regex_replace(text, std::regex("ENUM:value in (\\{[^}]*\\}) OR \\{[^}]*\\}"), "$1");
    text = std::regex_replace(text, std::regex("->-?[0-9]+"), "");
    text = std::regex_replace(text, std::regex("[A-Z]+:([A-Z{])"), "$1");
    return std::regex_replace(text, std::regex(" \\[b, [^\\]]*\\]"), "");
  }
};

/// A sentence about a word that is no option of the program.
std::string unknown_option(const CLI::App& app, const std::string& given) {
  const std::string word = given.substr(0, given.find('='));
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  Nearest nearest(word);
  for (const std::string& name : names) nearest.consider(name);
  return fmt::format("there is no option {}{}", word,
                     nearest.found().empty() ? "" : fmt::format("; did you mean {}?", nearest.found()));
}

}  // namespace

void write_plainly(CLI::App& app) { app.formatter(std::make_shared<PlainFormatter>()); }

std::optional<int> parse(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ExtrasError& error) {
    for (const std::string& word : app.remaining()) {
      if (!word.starts_with("--")) continue;
      fmt::print(stderr, "{}: {}\nRun with --help for more information.\n", app.get_name(),
                 unknown_option(app, word));
      return kExitUsage;
    }
    return app.exit(error) == 0 ? 0 : kExitUsage;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
}

}  // namespace weir::trainer
