// SPDX-License-Identifier: Apache-2.0

#include "algorithms/cost/lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "src/base/text.h"

namespace weir::cost {
namespace {

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

Status unknown(std::string_view word, std::string_view what, std::string_view known) {
  return {Code::invalid_usage, fmt::format("unknown {1} \"{0}\"; expected one of {2}", word, what, known)};
}

Status unknown_collective(std::string_view word) {
  std::string known;
  for (const Call& each : kCalls) known += fmt::format("{}{}", known.empty() ? "" : ", ", each.name);
  return unknown(word, "collective", known);
}

/// The names that a list such as "ring,tree" or "^tree" excludes.
Result<Names> left_out_by(std::string_view list, const Vocabulary& vocabulary) {
  const bool but = list.starts_with('^');
  if (but) list.remove_prefix(1);
  Names named;
  for (const std::string_view word : split_list(list)) {
    const auto names = vocabulary.meaning(word);
    if (!names) return unknown(word, vocabulary.kind, vocabulary.expected);
    named.insert(named.end(), names->begin(), names->end());
  }
  if (but) return named;
  Names others = vocabulary.names;
  std::erase_if(others, [&](std::string_view name) { return std::ranges::find(named, name) != named.end(); });
  return others;
}

}  // namespace

Result<std::array<Names, kCollectives>> left_out(std::string_view text, const Vocabulary& vocabulary) {
  std::array<Names, kCollectives> by_collective;
  bool first = true;
  for (const std::string_view entry : split_list(text, ';')) {
    const size_t colon = entry.find(':');
    const bool for_all = colon == std::string_view::npos;
    if (for_all && !first) {
      return Status(
          Code::invalid_usage,
          fmt::format("\"{}\" names no collective; expected one in every list but the first", entry));
    }
    auto names = left_out_by(for_all ? entry : entry.substr(colon + 1), vocabulary);
    WEIR_TRY(names.status());
    first = false;
    if (for_all) {
      by_collective.fill(*names);
      continue;
    }
    const auto* call = std::find_if(std::begin(kCalls), std::end(kCalls), [&](const Call& known) {
      return equals_ignoring_case(known.name, entry.substr(0, colon));
    });
    if (call == std::end(kCalls)) return unknown_collective(entry.substr(0, colon));
    by_collective[static_cast<size_t>(call->kind)] = *names;
  }
  return by_collective;
}

}  // namespace weir::cost
