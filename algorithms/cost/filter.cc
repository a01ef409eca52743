// SPDX-License-Identifier: Apache-2.0

#include "algorithms/cost/filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <utility>

#include "src/base/text.h"

namespace weir::cost {
namespace {

/// NCCL's name of an algorithm, and the corresponding algorithms of the catalogue.
struct Word {
  std::string_view nccl;
  std::string_view ours[5];
};
constexpr Word kWords[] = {
    {"ring", {"ring", "ring_set", "hierarchical"}},
    {"tree", {"double_tree", "binomial", "tree4", "tree8", "planned"}},
    {"pat", {"pat"}},
    {"collnetdirect", {}},
    {"collnetchain", {}},
    {"nvls", {}},
    {"nvlstree", {}},
};

Names every_name() {
  Names names;
  for (const algorithms::Entry& entry : algorithms::catalogue())
    if (std::ranges::find(names, entry.algorithm) == names.end()) names.push_back(entry.algorithm);
  return names;
}

/// The algorithms that a word stands for; nothing for an unknown word.
std::optional<Names> meaning(std::string_view word) {
  for (const Word& known : kWords)
    if (equals_ignoring_case(known.nccl, word)) return algorithms_like(known.nccl);
  for (const std::string_view name : every_name())
    if (equals_ignoring_case(name, word)) return Names{name};
  return std::nullopt;
}

std::string expected_words() {
  std::string known;
  for (const Word& each : kWords) known += fmt::format("{}{}", known.empty() ? "" : ", ", each.nccl);
  for (const std::string_view name : every_name())
    if (name != "ring") known += fmt::format(", {}", name);
  return known;
}

/// The word as Filter::parse has it: without a protocol, and without what divides NCCL's longer names.
std::string without_protocol(std::string_view word) {
  std::string plain;
  for (const char each : word) plain += static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
  for (const std::string_view protocol : {"_ll", "_ll128", "_simple"})
    if (plain.size() > protocol.size() && plain.ends_with(protocol)) {
      plain.resize(plain.size() - protocol.size());
      break;
    }
  for (const std::string_view divided : {"collnet_direct", "collnet_chain", "nvls_tree"})
    if (plain == divided) std::erase(plain, '_');
  return plain;
}

/// Kernels of NCCL's for hardware that weir does not use.
bool is_foreign_kernel(std::string_view word) { return word.starts_with("symk_") || word == "collnet"; }

}  // namespace

Result<Names> selected_algorithms(std::string_view list) {
  const bool others = list.starts_with('^');
  if (others) list.remove_prefix(1);
  Names named;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string word = without_protocol(list.substr(begin, end - begin));
    begin = end + 1;
    if (is_foreign_kernel(word)) continue;
    const auto names = meaning(word);
    if (!names)
      return Status(Code::invalid_argument,
                    fmt::format("there is no algorithm '{}'; expected {}", word, expected_words()));
    named.insert(named.end(), names->begin(), names->end());
  }
  if (!others) return named;
  Names rest = every_name();
  std::erase_if(rest, [&](std::string_view name) { return std::ranges::find(named, name) != named.end(); });
  return rest;
}

Names algorithms_like(std::string_view nccl) {
  Names names;
  for (const Word& known : kWords) {
    if (known.nccl != nccl) continue;
    for (const std::string_view name : known.ours)
      if (!name.empty()) names.push_back(name);
  }
  return names;
}

Result<Filter> Filter::parse(std::string_view text) {
  auto refused = left_out(text, {"algorithm", every_name(), expected_words(), meaning});
  WEIR_TRY(refused.status());
  Filter filter;
  filter.refused_ = std::move(*refused);
  return filter;
}

Filter Filter::only(std::string_view algorithm) {
  Filter filter;
  Names others = every_name();
  std::erase(others, algorithm);
  filter.refused_.fill(others);
  return filter;
}

bool Filter::allows(std::string_view algorithm, Collective kind) const {
  const Names& refused = refused_[static_cast<size_t>(kind)];
  const auto is_refused = [&](std::string_view name) {
    return std::ranges::find(refused, name) != refused.end();
  };
  if (!is_refused(algorithm)) return true;
  return std::ranges::all_of(algorithms::catalogue(), [&](const algorithms::Entry& entry) {
    return entry.kind != kind || is_refused(entry.algorithm);
  });
}

bool Filter::allows(const algorithms::Entry& entry) const { return allows(entry.algorithm, entry.kind); }

}  // namespace weir::cost
