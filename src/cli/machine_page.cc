// SPDX-License-Identifier: Apache-2.0

#include "src/cli/machine_page.h"

#include <fmt/format.h>

#include "topology/formats/synthetic_grammar.h"

namespace weir::cli {
namespace {

using topology::MachineLimits;
using topology::MachineRule;
using topology::MachineTerm;

std::string rules() {
  std::string text;
  for (const MachineRule& rule : topology::machine_rules())
    text += fmt::format("    {:<8} := {}\n", rule.name, rule.form);
  return text;
}

std::string range_of(const MachineLimits& limits) {
  return fmt::format("{} to {:.0f}", limits.least, limits.most);
}

}  // namespace

std::string machine_help() {
  std::string text = "A machine in a line, in place of a file that describes a topology:\n\n" + rules() +
                     "\nWords (in brackets what holds where one is left out):\n";
  for (const MachineTerm& term : topology::machine_terms()) {
    const std::string otherwise = topology::left_out(term.which);
    text += fmt::format("  {:<15} {}{}\n", term.form, term.meaning,
                        otherwise.empty() ? "" : fmt::format(" [{}]", otherwise));
  }
  text += "\nNumbers:\n";
  for (const MachineLimits& limits : topology::machine_limits())
    text += fmt::format("  {:<15} {}, {}\n", limits.form, limits.meaning, range_of(limits));
  text += "\nExamples:\n";
  for (const MachineRule& example : topology::machine_examples())
    text += fmt::format("  weir topo \"{}\"\n      {}\n", example.name, example.form);
  return text;
}

std::string machine_page() {
  std::string text =
      "# A machine in a line\n"
      "Commands that read files with topologies (`weir topo`, `plan`, `sim`, `explain`, `order`) also read a "
      "line that "
      "describes\n"
      "a regular machine. This page is what `weir help machine --markdown` prints; the tables, from which "
      "lines are "
      "read,\n"
      "are in [synthetic_grammar.cc](../topology/formats/synthetic_grammar.cc).\n\n" +
      rules() +
      "\nWhat is in quotes stands for itself; `{ }` may be repeated or left out, `[ ]` may be left out. "
      "Blanks do not "
      "matter.\n\n"
      "| word | what it is | left out |\n|---|---|---|\n";
  for (const MachineTerm& term : topology::machine_terms())
    text += fmt::format("| `{}` | {} | {} |\n", term.form, term.meaning, topology::left_out(term.which));
  text += "\n| number | what it is | from, to |\n|---|---|---|\n";
  for (const MachineLimits& limits : topology::machine_limits())
    text += fmt::format("| `{}` | {} | {} |\n", limits.form, limits.meaning, range_of(limits));
  text += "\n| example | what it is |\n|---|---|\n";
  for (const MachineRule& example : topology::machine_examples())
    text += fmt::format("| `{}` | {} |\n", example.name, example.form);
  return text;
}

}  // namespace weir::cli
