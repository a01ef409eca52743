// SPDX-License-Identifier: Apache-2.0

#include "src/cli/help_page.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <system_error>

#include "src/base/options.h"
#include "src/base/output_file.h"
#include "src/base/spelling.h"
#include "src/base/text.h"

namespace weir::cli {
namespace {

constexpr const char* kVersion = "weir " WEIR_VERSION;
/// The first version that had the options of the table, and those of later versions.
constexpr std::string_view kFirstVersion = "0.2.0";
constexpr std::array<std::pair<std::string_view, std::string_view>, 0> kLaterOptions = {};
constexpr const char* kMachine = "\"4 x (2 gpu nvswitch 450 pcie 64, 2 nic 50) leaf by 2 spine 2\"";

/// Examples of each command; {} is a machine in a line.
const std::map<std::string, std::vector<std::string>>& examples() {
  static const std::map<std::string, std::vector<std::string>> kExamples = {
      {"run",
       {"weir run -n 4 -- ./program --its-option", "weir run --hosts node1:4,node2:4 -- python3 train.py",
        "weir run -n 4 --nodes 2 -- python3 train.py"}},
      {"topo", {"weir topo --matrix", "weir topo {} --html -o network.html"}},
      {"doctor", {"weir doctor --why"}},
      {"plan",
       {"weir plan {} --bytes 256M", "weir plan {} --svg -o loads.svg",
        "weir plan {} --emit plan -o allreduce.plan"}},
      {"explain", {"weir explain {} --algorithm ring"}},
      {"sim", {"weir sim {} --bytes 64M --algorithm ring --latency message=2"}},
      {"verify", {"weir verify allreduce.plan"}},
      {"order", {"weir order {} --hosts host2,host0 --format slurm -o hosts"}},
      {"measure", {"weir run -n 4 -- weir measure -o fabric.txt"}},
      {"metrics", {"weir metrics --listen localhost:9400"}},
      {"ps", {"weir ps", "weir ps --json -o reports.json"}},
      {"top", {"weir top --once --interval 2"}},
      {"trace", {"weir trace dump.*.json -o trace.json"}},
      {"options", {"weir options", "weir options --markdown -o options.md"}},
      {"help", {"weir help plan", "weir help machine"}},
  };
  return kExamples;
}

std::string_view since(std::string_view option) {
  const auto* const later =
      std::ranges::find(kLaterOptions, option, &std::pair<std::string_view, std::string_view>::first);
  return later == kLaterOptions.end() ? kFirstVersion : later->second;
}

std::string join(const std::vector<std::string>& words, const char* between) {
  return fmt::format("{}", fmt::join(words, between));
}

std::string footer_with_examples(const CLI::App& command) {
  std::string text = command.get_footer();
  const auto found = examples().find(command.get_name());
  if (found == examples().end()) return text;
  if (!text.empty()) text += "\n\n";
  text += found->second.size() > 1 ? "Examples:" : "Example:";
  for (const std::string& line : found->second) text += "\n  " + fmt::format(fmt::runtime(line), kMachine);
  return text;
}

/// The commands that help lists, by name.
std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  std::vector<const CLI::App*> all;
  for (const CLI::App* command :
       app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); }))
    all.push_back(command);
  std::ranges::sort(all, {}, &CLI::App::get_name);
  return all;
}

/// "-o,--out" as the words -o and --out.
std::vector<std::string> words_of(const CLI::Option& option) {
  std::vector<std::string> words;
  for (const std::string& name : option.get_snames()) words.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) words.push_back("--" + name);
  return words;
}

/// The a, b and c of a type "TEXT:{a,b,c}".
std::vector<std::string> values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t open = type.find('{'), close = type.find('}');
  std::vector<std::string> values;
  if (open == std::string::npos || close == std::string::npos) return values;
  for (const std::string_view value : split_list(std::string_view(type).substr(open + 1, close - open - 1)))
    values.emplace_back(value);
  return values;
}

/// Text for roff: no line begins a request, and hyphens are those that can be copied.
std::string roff(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (const char letter : text) {
    if (line_begins && (letter == '.' || letter == '\'')) out += "\\&";
    if (letter == '\\')
      out += "\\e";
    else if (letter == '-')
      out += "\\-";
    else
      out += letter;
    line_begins = letter == '\n';
  }
  return out;
}

/// "INT in [1 - 64]", "{a,b}", "SIZE", "TEXT": without the names and units of the parser.
std::string type_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return "";
  std::string type = option.get_type_name();
  if (const size_t colon = type.find(':'); colon != std::string::npos) type.erase(0, colon + 1);
  return type.substr(0, type.find(" [b, "));
}

/// Leaves out which options exclude each other: whoever gives both is told.
class ShortFormatter final : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text = type_of(*option);
    if (!text.empty()) text.insert(0, " ");
    if (!option->get_default_str().empty()) text += "=" + option->get_default_str();
    if (option->get_expected_max() == CLI::detail::expected_max_vector_size) text += " ...";
    if (option->get_required()) text += " REQUIRED";
    return text;
  }
};

std::string roff_option(const CLI::Option& option) {
  const bool positional = option.get_positional() && option.get_lnames().empty();
  const std::string type = type_of(option);
  std::string text =
      ".TP\n\\fB" + roff(positional ? option.get_name() : join(words_of(option), ", ")) + "\\fR";
  if (!type.empty()) text += " \\fI" + roff(type) + "\\fR";
  text += "\n" + roff(option.get_description()) + "\n";
  const std::string value = option.get_default_str();
  if (!value.empty()) text += "(default: " + roff(value) + ")\n";
  return text;
}

std::string meant(std::string_view before, const Nearest& nearest) {
  return nearest.found().empty() ? "" : fmt::format("; did you mean {}{}?", before, nearest.found());
}

/// A sentence about the first option that the command does not have. What follows the program of `weir run`
/// is the program's.
std::optional<std::string> unknown_option(const CLI::App& command, const std::vector<std::string>& words) {
  std::map<std::string, const CLI::Option*> known;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : words_of(*option)) known[name] = option;
  for (size_t i = 1; i < words.size(); ++i) {
    if (!words[i].starts_with('-')) {
      if (command.get_name() == "run") return std::nullopt;
      continue;
    }
    const std::string word = words[i].substr(0, words[i].find('='));
    const auto option = known.find(word);
    if (option != known.end()) {
      if (option->second->get_items_expected_max() > 0 && word == words[i]) ++i;  // its value
      continue;
    }
    if (!word.starts_with("--")) continue;  // letters, perhaps with a value: the parser takes them apart
    Nearest nearest(word);
    for (const auto& [name, one] : known) nearest.consider(name);
    return fmt::format("there is no option {}{}", word, meant("", nearest));
  }
  return std::nullopt;
}

Status write(const std::filesystem::path& path, const std::string& text) {
  return write_output_file(path.string(), text);
}

}  // namespace

void complete_commands(CLI::App& app, std::string& output) {
  // What ranks print while they run is for a shell to redirect; others have an -o of their own.
  static const std::set<std::string> kNoOutput = {"run", "measure", "metrics", "trace", "manual"};
  const auto formatter = std::make_shared<ShortFormatter>();
  app.formatter(formatter);
  app.footer(
      "weir help COMMAND prints the options of a command, with examples; weir options all environment "
      "variables.");
  for (CLI::App* command : app.get_subcommands({})) {
    command->formatter(formatter);
    command->set_version_flag("--version", kVersion, "Print the version and exit");
    command->footer(footer_with_examples(*command));
    if (kNoOutput.contains(command->get_name())) continue;
    CLI::Option* const out = command->add_option(
        "-o,--out", output, "Write what the command prints to this file, instead of standard output");
    if (command->get_name() == "top") out->needs(command->get_option("--once"));
  }
}

CLI::Validator one_of(std::vector<std::string> words) {
  const std::string all = join(words, ",");
  return CLI::Validator(
      [words](std::string& word) {
        if (std::ranges::find(words, word) != words.end()) return std::string();
        Nearest nearest(word);
        for (const std::string& one : words) nearest.consider(one);
        return fmt::format("\"{}\" is not known; expected one of {}{}", word, join(words, ", "),
                           meant("", nearest));
      },
      "{" + all + "}");
}

std::optional<std::string> unknown_word(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty() || words[0].starts_with('-')) return std::nullopt;
  const std::vector<const CLI::App*> all = app.get_subcommands([](const CLI::App*) { return true; });
  const auto named = std::ranges::find(all, words[0], &CLI::App::get_name);
  if (named == all.end()) {
    Nearest nearest(words[0]);
    for (const CLI::App* command : commands_of(app)) nearest.consider(command->get_name());
    return fmt::format("there is no command {}{}", words[0], meant("weir ", nearest));
  }
  return unknown_option(**named, words);
}

std::string man_page(const CLI::App& app, const CLI::App* command) {
  const CLI::App& shown = command == nullptr ? app : *command;
  const std::string name = command == nullptr ? "weir" : "weir-" + command->get_name();
  std::string title = name;
  std::ranges::transform(title, title.begin(), [](unsigned char letter) { return std::toupper(letter); });
  std::string text =
      fmt::format(".TH {} 1 \"\" \"weir {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n",
                  roff(title), WEIR_VERSION, roff(name), roff(shown.get_description()));
  text += command == nullptr ? "\\fBweir\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n"
                             : fmt::format("\\fBweir {}\\fR [\\fIOPTIONS\\fR]\n", roff(command->get_name()));
  text += ".SH OPTIONS\n";
  for (const CLI::Option* option : shown.get_options())
    if (!option->get_group().empty()) text += roff_option(*option);
  if (command == nullptr) {
    text += ".SH COMMANDS\n";
    for (const CLI::App* one : commands_of(app))
      text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(one->get_name()), roff(one->get_description()));
  }
  if (!shown.get_footer().empty()) text += ".SH NOTES\n.nf\n" + roff(shown.get_footer()) + "\n.fi\n";
  text += ".SH SEE ALSO\n";
  if (command != nullptr) return text + "\\fBweir\\fR(1)\n";
  std::vector<std::string> pages;
  for (const CLI::App* one : commands_of(app))
    pages.push_back("\\fBweir\\-" + roff(one->get_name()) + "\\fR(1)");
  return text + join(pages, ",\n") + "\n";
}

std::string bash_completion(const CLI::App& app) {
  std::string commands, cases, values;
  for (const CLI::App* command : commands_of(app)) {
    commands += (commands.empty() ? "" : " ") + command->get_name();
    std::string words;
    for (const CLI::Option* option : command->get_options()) {
      const std::vector<std::string> names = words_of(*option);
      for (const std::string& name : names)
        if (name.starts_with("--")) words += (words.empty() ? "" : " ") + name;
      const std::vector<std::string> known = values_of(*option);
      for (const std::string& name : known.empty() ? std::vector<std::string>() : names)
        values += fmt::format("    {}:{}) words=\"{}\" ;;\n", command->get_name(), name, join(known, " "));
    }
    cases += fmt::format("      {}) words=\"{}\" ;;\n", command->get_name(), words);
  }
  return fmt::format(R"(# bash completion of weir, written by weir itself
_weir() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
  COMPREPLY=()
  if [[ $COMP_CWORD -eq 1 || $before == help ]]; then
    COMPREPLY=($(compgen -W "{} --help --version" -- "$word"))
    return
  fi
  case "${{COMP_WORDS[1]}}:$before" in
{}  esac
  if [[ -z $words && $word == -* ]]; then
    case "${{COMP_WORDS[1]}}" in
{}    esac
  fi
  [[ -z $words ]] || COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _weir weir
)",
                     commands, values, cases);
}

std::string options_page() {
  const Options defaults;
  std::string text =
      "# Options\n"
      "The environment variables of the library. `NCCL_CONF_FILE` (or `~/.nccl.conf`), then "
      "`/etc/nccl.conf`, give the values of\n"
      "those that are not set. Rank 0's values apply to all ranks where the communicator needs one value. "
      "\"since\" is the first\n"
      "version of weir that reads it. Not in the table: `WEIR_SECRET`, the secret of a job itself "
      "([security](security.md)),\n"
      "`NCCL_ENV_PLUGIN`, a plugin of NCCL that gives the values of all others ([plugins](plugins.md)), and "
      "`WEIR_TORCH_REPLACE` of\n"
      "the back end for PyTorch ([torch](torch.md)). This page is what `weir options --markdown` prints; the "
      "table is in\n"
      "[src/base/options.cc](../src/base/options.cc).\n"
      "\n"
      "| variable | type | unit | default | since | what it does |\n"
      "|---|---|---|---|---|---|\n";
  for (const OptionRow& row : option_table()) {
    std::string help(row.help);
    for (size_t at = 0; (at = help.find('|', at)) != std::string::npos; at += 2) help.insert(at, "\\");
    const std::string value = value_text(defaults, row);
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", row.name, type_name(row), row.unit,
                        value.empty() ? std::string() : "`" + value + "`", since(row.name), help);
  }
  return text;
}

Status write_manual(const CLI::App& app, const std::string& folder) {
  const std::filesystem::path pages = std::filesystem::path(folder) / "man1";
  std::error_code error;
  std::filesystem::create_directories(pages, error);
  if (error)
    return {Code::system_error, fmt::format("{} cannot be made: {}", pages.string(), error.message())};
  WEIR_TRY(write(pages / "weir.1", man_page(app, nullptr)));
  for (const CLI::App* command : commands_of(app))
    WEIR_TRY(write(pages / fmt::format("weir-{}.1", command->get_name()), man_page(app, command)));
  return write(std::filesystem::path(folder) / "weir.bash", bash_completion(app));
}

}  // namespace weir::cli
