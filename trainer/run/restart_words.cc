// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/restart_words.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>

namespace weir::trainer {
namespace {

constexpr std::string_view kPlain =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-";

std::string shell_word(std::string_view word) {
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  std::string quoted = "'";
  for (const char letter : word) quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
  return quoted + "'";
}

}  // namespace

std::string shell_words(std::span<const char* const> words) {
  std::string text;
  for (const char* const word : words) text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

std::string restart_words(const RunEnd& ending, const Settings& settings,
                          std::span<const char* const> command, bool launched) {
  const std::string stopped = fmt::format("stopped by signal {} ({}) after step {} of {}", ending.stop_signal,
                                          strsignal(ending.stop_signal), ending.steps, settings.steps);
  if (settings.checkpoints.empty())
    return stopped + "; nothing is saved, because --checkpoints was not given";
  return fmt::format("{}; saved in {}\nto go on{}: {}", stopped, settings.checkpoints,
                     launched ? ", with the launcher as before and any number of ranks" : "",
                     shell_words(command));
}

}  // namespace weir::trainer
