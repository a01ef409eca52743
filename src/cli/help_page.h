// SPDX-License-Identifier: Apache-2.0
/// What a reader is told about the commands: help with examples, man pages, the completion of bash, and the
/// page of options. All of it is made of the tables that parse the command line.
///
/// Not thread-safe.
/// Tests: tests/cli/help_page_test.cc
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace weir::cli {

/// Adds to each command its examples, --version, and -o if it prints to standard output; `output` gets the
/// file.
void complete_commands(CLI::App& app, std::string& output);

/// Accepts these words only; the error names them, and the one that was probably meant.
CLI::Validator one_of(std::vector<std::string> words);

/// A sentence about the word that is no command, or the first option that the command does not have, with the
/// one that was probably meant; nullopt if there is none.
std::optional<std::string> unknown_word(const CLI::App& app, const std::vector<std::string>& words);

/// The page of `weir`, or of a command, for man(1).
std::string man_page(const CLI::App& app, const CLI::App* command);
std::string bash_completion(const CLI::App& app);
/// All environment variables as a page in Markdown.
std::string options_page();

/// Writes man1/*.1 and weir.bash below `folder`.
Status write_manual(const CLI::App& app, const std::string& folder);

}  // namespace weir::cli
