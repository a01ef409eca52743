#include "algorithms/cost/filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "src/base/text.h"

namespace weir::cost {
namespace {

using Names = std::vector<std::string_view>;

/// What NCCL calls an algorithm, and what of the catalogue goes the same ways.
struct Word {
  std::string_view nccl;
  std::string_view ours[3];
};
constexpr Word kWords[] = {
    {"ring", {"ring", "hierarchical", ""}},
    {"tree", {"double_tree", "binomial", "planned"}},
    {"pat", {"halving_doubling", "", ""}},
    {"collnetdirect", {}},
    {"collnetchain", {}},
    {"nvls", {}},
    {"nvlstree", {}},
};

struct Call {
  std::string_view name;
  Collective kind;
};
constexpr Call kCalls[] = {
    {"allreduce", Collective::all_reduce}, {"reduce", Collective::reduce},
    {"broadcast", Collective::broadcast},  {"allgather", Collective::all_gather},
    {"gather", Collective::gather},        {"reducescatter", Collective::reduce_scatter},
    {"scatter", Collective::scatter},      {"alltoall", Collective::all_to_all},
};

Names every_name() {
  Names names;
  for (const algorithms::Entry& entry : algorithms::catalogue())
    if (std::ranges::find(names, entry.algorithm) == names.end()) names.push_back(entry.algorithm);
  return names;
}

/// The algorithms that a word means; nothing for a word that has no meaning.
std::optional<Names> meaning(std::string_view word) {
  for (const Word& known : kWords) {
    if (!equals_ignoring_case(known.nccl, word)) continue;
    Names names;
    for (const std::string_view name : known.ours)
      if (!name.empty()) names.push_back(name);
    return names;
  }
  for (const std::string_view name : every_name())
    if (equals_ignoring_case(name, word)) return Names{name};
  return std::nullopt;
}

Status unknown(std::string_view word, std::string_view what, std::string known) {
  return {Code::invalid_usage, fmt::format("\"{}\" is no {}; expected one of {}", word, what, known)};
}

Status unknown_algorithm(std::string_view word) {
  std::string known;
  for (const Word& each : kWords) known += fmt::format("{}{}", known.empty() ? "" : ", ", each.nccl);
  for (const std::string_view name : every_name())
    if (name != "ring") known += fmt::format(", {}", name);
  return unknown(word, "algorithm", known);
}

/// What a list such as "ring,tree" or "^tree" leaves out.
Result<Names> refused_by(std::string_view list) {
  const bool but = list.starts_with('^');
  if (but) list.remove_prefix(1);
  Names named;
  for (const std::string_view word : split_list(list)) {
    const auto names = meaning(word);
    if (!names) return unknown_algorithm(word);
    named.insert(named.end(), names->begin(), names->end());
  }
  if (but) return named;
  Names others = every_name();
  std::erase_if(others, [&](std::string_view name) { return std::ranges::find(named, name) != named.end(); });
  return others;
}

}  // namespace

Result<Filter> Filter::parse(std::string_view text) {
  Filter filter;
  bool first = true;
  for (const std::string_view entry : split_list(text, ';')) {
    const size_t colon = entry.find(':');
    const bool for_all = colon == std::string_view::npos;
    if (for_all && !first) {
      return Status(Code::invalid_usage,
                    fmt::format("\"{}\" names no collective; only the first list may go without", entry));
    }
    auto refused = refused_by(for_all ? entry : entry.substr(colon + 1));
    WEIR_TRY(refused.status());
    first = false;
    if (for_all) {
      filter.refused_.fill(*refused);
      continue;
    }
    const auto* call = std::find_if(std::begin(kCalls), std::end(kCalls), [&](const Call& known) {
      return equals_ignoring_case(known.name, entry.substr(0, colon));
    });
    if (call == std::end(kCalls)) {
      std::string known;
      for (const Call& each : kCalls) known += fmt::format("{}{}", known.empty() ? "" : ", ", each.name);
      return unknown(entry.substr(0, colon), "collective", known);
    }
    filter.refused_[static_cast<size_t>(call->kind)] = *refused;
  }
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
