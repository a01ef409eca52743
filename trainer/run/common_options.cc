// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/common_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <sstream>

#include "trainer/checkpoint/checksum.h"
#include "trainer/run/checkpoint_words.h"
#include "trainer/run/fragments.h"
#include "trainer/shard/calls.h"

namespace weir::trainer {
namespace {

constexpr size_t kMostShown = 4;  // options, and ranks of a value

std::string shown(const std::vector<size_t>& ranks, std::span<const std::string> where) {
  if (!where.empty()) return where[ranks.front()];
  std::string text = fmt::format(
      "on rank{} {}", ranks.size() == 1 ? "" : "s",
      fmt::join(ranks.begin(), ranks.begin() + static_cast<ptrdiff_t>(std::min(ranks.size(), kMostShown)),
                ", "));
  if (ranks.size() > kMostShown) text += fmt::format(" and {} more", ranks.size() - kMostShown);
  return text;
}

/// The lines of each rank. Collective.
Result<std::vector<std::string>> gather(const World& world, const std::string& own) {
  const auto ranks = static_cast<size_t>(world.ranks());
  const auto rank = static_cast<size_t>(world.rank());
  std::vector<uint64_t> sizes(ranks);
  sizes[rank] = own.size();
  WEIR_TRY(shard::checked(ncclAllGather(&sizes[rank], sizes.data(), 1, ncclUint64, world.comm(), nullptr),
                          "comparing options"));
  const size_t most = *std::ranges::max_element(sizes);
  std::string all(ranks * most, '\0');
  own.copy(all.data() + rank * most, own.size());
  WEIR_TRY(shard::checked(
      ncclAllGather(all.data() + rank * most, all.data(), most, ncclChar, world.comm(), nullptr),
      "comparing options"));
  std::vector<std::string> lines;
  for (size_t i = 0; i < ranks; ++i) lines.push_back(all.substr(i * most, std::min<size_t>(sizes[i], most)));
  return lines;
}

std::vector<CommonSetting> options_of_groups(const Settings& settings) {
  return {{"--local-steps", fmt::format("{}", settings.local_steps)},
          {"--outer-learning-rate", fmt::format("{}", settings.outer_learning_rate)},
          {"--outer-momentum", fmt::format("{}", settings.outer_momentum)},
          {"--outer-fragments", fmt::format("{}", settings.outer_fragments)},
          {"--outer-delay", fmt::format("{}", outer_delay_of(settings))},
          {"--outer-mix", fmt::format("{}", settings.outer_mix)}};
}

}  // namespace

std::vector<CommonSetting> common_options(const Settings& settings, const ReportSettings& report,
                                          const Text& text) {
  std::vector<CommonSetting> options;
  const auto add = [&](const char* name, const auto& value) {
    options.push_back({name, fmt::format("{}", value)});
  };
  const Config& config = settings.config;
  add("--preset", config.name);
  add("--blocks", config.layers);
  add("--tied", config.tied ? "given" : "not given");
  add("--data", fmt::format("{} {} with checksum {:016x}", text.size(), text.is_bytes() ? "bytes" : "tokens",
                            checksum_of(text)));
  add("--vocabulary", config.vocabulary);
  add("--separate-documents", settings.separator ? "given" : "not given");
  add("--precision", settings.precision == Precision::bf16 ? "bf16" : "fp32");
  constexpr std::array kRecomputes = {"none", "selective", "full"};
  add("--recompute", kRecomputes[static_cast<size_t>(settings.recompute)]);
  add("--steps", settings.steps);
  add("--stop-after", settings.stop_after);
  add("--batch", settings.batch);
  add("--micro-batch", settings.micro_batch);
  add("--seed", settings.seed);
  add("--learning-rate", settings.learning_rate);
  add("--warm-up", settings.warm_up);
  add("--optimizer", settings.optimizer == Optimizer::muon ? "muon" : "adamw");
  add("--weight-decay", settings.weight_decay);
  add("--clip", settings.clip);
  const shard::EngineOptions& sharding = settings.sharding;
  add("--strategy", shard::name_of(sharding.strategy));
  add("--pipeline", settings.parts.stages);
  add("--tensor", settings.parts.slices);
  add("--shard-ranks", sharding.shard_ranks);
  std::ranges::move(options_of_groups(settings), std::back_inserter(options));
  add("--prefetch", sharding.forward_prefetch);
  constexpr std::array kLimits = {"off", "block", "sliding"};
  add("--limiter", kLimits[static_cast<size_t>(sharding.limiter.kind)]);
  add("--gathers", sharding.limiter.gathers);
  add("--gather-bytes", sharding.limiter.bytes);
  add("--memory", settings.memory);
  add("--gather", shard::name_of(sharding.gather));
  add("--reduce", shard::name_of(sharding.reduce));
  add("--evaluation-sequences", settings.evaluation_sequences);
  add("--evaluate-every", report.evaluate_every);
  const bool is_local = settings.checkpoints_local;  // then paths may differ, too
  add("--checkpoints", settings.checkpoints.empty() ? "not given"
                       : is_local                   ? "given"
                                                    : settings.checkpoints);
  add("--checkpoints-local", is_local ? "given" : "not given");
  add("--checkpoint-every", settings.checkpoint_every);
  add("--allow-changes", fmt::format("{}", fmt::join(settings.allowed_changes, ",")));
  add("--keep", settings.checkpoints_kept);
  add("--trace", report.journal.trace.empty() ? "not given" : "given");
  add("--trace-steps", report.journal.trace_steps);
  add("--page", report.journal.page.empty() ? "not given" : "given");
  add("--prompt", report.prompt);
  add("--sample", report.sample_tokens);
  add("--temperature", report.temperature);
  return options;
}

std::string lines_of(const std::vector<CommonSetting>& options) {
  std::string lines;
  for (const auto& [name, value] : options) {
    std::string line = name + "\t" + value;
    std::ranges::replace(line, '\n', ' ');
    lines += line + "\n";
  }
  return lines;
}

std::string differences(std::span<const std::string> options, std::span<const std::string> where) {
  std::vector<std::string> names;  // in the order in which they are first met
  std::map<std::string, std::map<std::string, std::vector<size_t>>> ranks;  // key: name, then value
  for (size_t rank = 0; rank < options.size(); ++rank) {
    std::istringstream lines(options[rank]);
    for (std::string line; std::getline(lines, line);) {
      const size_t tab = line.find('\t');
      const std::string name = line.substr(0, tab);
      if (!ranks.contains(name)) names.push_back(name);
      ranks[name][tab == std::string::npos ? "" : line.substr(tab + 1)].push_back(rank);
    }
  }
  std::string text;
  size_t count = 0;
  for (const std::string& name : names) {
    const auto& values = ranks[name];
    if (values.size() == 1) continue;
    if (++count > kMostShown) continue;
    std::vector<std::pair<std::string, std::vector<size_t>>> ordered(values.begin(), values.end());
    std::ranges::sort(ordered, {}, [](const auto& one) { return one.second.front(); });
    text += fmt::format("{}{} is ", text.empty() ? "" : "; ", name);
    for (size_t i = 0; i < ordered.size() && i < kMostShown; ++i)
      text +=
          fmt::format("{}{} {}", i == 0 ? "" : ", and ", ordered[i].first, shown(ordered[i].second, where));
    if (ordered.size() > kMostShown) text += fmt::format(", and {} more values", ordered.size() - kMostShown);
  }
  return count > kMostShown ? fmt::format("{}; and {} more options", text, count - kMostShown) : text;
}

Status check_common(const World& world, const std::vector<CommonSetting>& options) {
  if (world.ranks() == 1) return {};
  const std::string own = lines_of(options);
  uint64_t checksums[2] = {checkpoint::checksum(own.data(), own.size()), 0};  // the largest and the smallest
  checksums[1] = ~checksums[0];
  WEIR_TRY(shard::checked(ncclAllReduce(checksums, checksums, 2, ncclUint64, ncclMax, world.comm(), nullptr),
                          "comparing options"));
  if (checksums[0] == ~checksums[1]) return {};
  const auto all = gather(world, own);
  WEIR_TRY(all.status());
  return Status(
      Code::invalid_argument,
      fmt::format("the ranks were started with different options: {}; expected the same on all ranks",
                  differences(*all)));
}

}  // namespace weir::trainer
