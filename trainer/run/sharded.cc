// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/sharded.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "trainer/checkpoint/agree.h"
#include "trainer/data/samples.h"
#include "trainer/exchange/imported_model.h"
#include "trainer/math/philox.h"
#include "trainer/parallel/pipeline_schedule.h"
#include "trainer/run/checkpoint_words.h"
#include "trainer/run/shard_units.h"
#include "trainer/run/stop_signals.h"
#include "trainer/shard/groups.h"

namespace weir::trainer {
namespace {

/// Time during which at least one collective was in flight.
double busy_ms(std::vector<shard::Interval> intervals) {
  std::ranges::sort(intervals, {}, &shard::Interval::begin_ms);
  double busy = 0;
  double until = 0;
  for (const shard::Interval& interval : intervals) {
    busy += std::max(0.0, interval.end_ms - std::max(until, interval.begin_ms));
    until = std::max(until, interval.end_ms);
  }
  return busy;
}

/// The row of the timeline on which a collective is shown.
struct Shown {
  Row row;
  Phase phase;
};

Shown shown_as(shard::Kind kind) {
  switch (kind) {
    case shard::Kind::gather: return {Row::gathers, Phase::gather};
    case shard::Kind::reduce: return {Row::reductions, Phase::reduce};
    case shard::Kind::move: return {Row::parts, Phase::move};
    case shard::Kind::sum: return {Row::parts, Phase::sum};
  }
  return {Row::parts, Phase::move};
}

Status make(Array& array, Index count, const shard::Arrays& where) {
  auto made = Array::make(count, where.gpu());
  if (made.ok()) array = std::move(*made);
  return made.status();
}

/// The sum over all ranks. Ranks with other parts of the model have other votes.
Result<uint64_t> votes_of_all(const parallel::Team& team, uint64_t votes_of_part) {
  uint64_t votes = votes_of_part;
  if (team.replica() != nullptr)
    WEIR_TRY(shard::checked(ncclAllReduce(&votes, &votes, 1, ncclUint64, ncclSum, team.replica(), nullptr),
                            "counting votes"));
  return votes;
}

/// `place`: of the token in the generated text.
Token draw_token(uint64_t seed, std::span<const float> logits, float temperature, Index place) {
  const float highest = *std::ranges::max_element(logits);
  std::vector<double> cumulated;
  double sum = 0;
  for (const float logit : logits)
    cumulated.push_back(sum += std::exp(static_cast<double>((logit - highest) / temperature)));
  const PhiloxBlock block = random_block(seed, Purpose::generate, 0, static_cast<uint64_t>(place));
  const double drawn = to_unit(block[0]) * sum;
  const auto found = std::upper_bound(cumulated.begin(), cumulated.end() - 1, drawn);
  return static_cast<Token>(found - cumulated.begin());
}

}  // namespace

Result<std::unique_ptr<Sharded>> Sharded::create(const World& world, const Settings& settings,
                                                 const Text& text, Ops& ops) {
  WEIR_TRY(check(settings));
  std::unique_ptr<OuterOptimizer> outer;
  if (settings.local_steps > 0) {
    auto joined = OuterOptimizer::join(world.comm(), settings);
    WEIR_TRY(joined.status());
    outer = std::move(*joined);
  }
  auto team = parallel::Team::join(outer != nullptr ? outer->ranks() : world.comm(), settings.parts,
                                   settings.sharding.gpu);
  WEIR_TRY(team.status());
  std::unique_ptr<Sharded> engine(
      new Sharded(world, settings, text, ops, std::move(outer), std::move(*team)));
  WEIR_TRY(engine->make_shards());
  WEIR_TRY(engine->make_arrays());
  if (settings.checkpoints.empty()) return engine;
  engine->saver_.emplace(world.comm(), settings.checkpoints, settings.checkpoints_kept);
  if (settings.checkpoints_local) engine->saver_->use_local_folders();
  if (settings.tokenizer_files != nullptr)
    for (const TokenizerFile& file : *settings.tokenizer_files)
      engine->saver_->keep_file(file.name, file.content);
  return engine;
}

Sharded::Sharded(const World& world, const Settings& settings, const Text& text, Ops& ops,
                 std::unique_ptr<OuterOptimizer> outer, std::unique_ptr<parallel::Team> team)
    : world_(world),
      settings_(settings),
      text_(text),
      ops_(ops),
      where_(settings.sharding.gpu),
      outer_(std::move(outer)),
      team_(std::move(team)),
      model_(settings.config, settings.recompute, {team_->grid_position().slice, team_->shape().slices}),
      units_(stages_of(settings, model_)[static_cast<size_t>(team_->grid_position().stage)]) {}

Status Sharded::make_shards() {
  const shard::EngineOptions& asked = settings_.sharding;
  const auto places = shard::make_places(team_->data(), asked.strategy, asked.shard_ranks);
  WEIR_TRY(places.status());
  Settings fitted = group_settings();
  WEIR_TRY(fit(fitted, model_, places->front(), static_cast<int>(places->size())));
  fitted.batch = settings_.batch;
  settings_ = std::move(fitted);
  shard::EngineOptions options = settings_.sharding;
  options.canonical = settings_.canonical;
  options.replica = team_->replica();
  auto shards = shard::ShardEngine::create(team_->data(), units_in(model_, units_), options);
  WEIR_TRY(shards.status());
  shards_ = std::move(*shards);
  return {};
}

Status Sharded::make_arrays() {
  const Settings own = group_settings();
  const int slots = slots_of(own, shards_->ranks(), team_->grid_position().stage);
  for (int slot = 0; slot < slots; ++slot) {
    auto tokens = Tokens::make(most_sequences(), settings_, where_);
    WEIR_TRY(tokens.status());
    tokens_.push_back(std::move(*tokens));
  }
  auto passes = Passes::make({model_, units_, *team_, *shards_, ops_, recorder_, where_},
                             shape_of_batch(own, shards_->ranks()), slots);
  WEIR_TRY(passes.status());
  passes_.emplace(std::move(*passes));
  for (size_t at = 0; at < units_.count(); ++at) {
    const bool has_muon = settings_.optimizer == Optimizer::muon && is_block(model_, units_.first + at);
    auto moments = Moments::make(unit(at).parameters(), shards_->shard_range(static_cast<int>(at)), has_muon,
                                 where_.gpu());
    WEIR_TRY(moments.status());
    moments_.push_back(std::move(*moments));
  }
  if (settings_.optimizer == Optimizer::muon)
    muon_.emplace(team_->data(), *shards_, matrices_of(model_, units_));
  if (outer_ != nullptr) WEIR_TRY(outer_->make_arrays(*shards_));
  WEIR_TRY(set_initial_parameters());
  if (outer_ != nullptr) outer_->begin();
  return {};
}

/// Collective if they are imported: some ranks might not be able to read the file.
Status Sharded::set_initial_parameters() {
  Status imported;
  for (size_t at = 0; at < units_.count(); ++at) {
    const shard::Range own = shards_->shard_range(static_cast<int>(at));
    const auto begin = static_cast<Index>(own.first), end = static_cast<Index>(own.end());
    std::vector<float> values(own.count);
    if (settings_.imported == nullptr)
      initialise(unit(at).parameters(), settings_.seed, begin, end, values.data());
    else if (imported.ok())
      imported = settings_.imported->fill(unit(at).parameters(), begin, end, values.data());
    where_.copy(values.data(), own.count * sizeof(float), shards_->shard(static_cast<int>(at)).data());
  }
  if (settings_.imported != nullptr) WEIR_TRY(checkpoint::agree(world_.comm(), imported));
  return where_.status();
}

void Sharded::abort() {
  shards_->abort();
  team_->abort();
  if (outer_ != nullptr) outer_->abort();
}

shard::GrainPlan Sharded::deal_out(Index sequences) const {
  return {static_cast<uint64_t>(sequences), shards_->ranks(), static_cast<uint64_t>(most_sequences())};
}

/// With the part of the global batch of this rank's group.
Settings Sharded::group_settings() const {
  Settings settings = settings_;
  if (outer_ != nullptr) settings.batch /= outer_->groups();
  return settings;
}

/// Maximum number of sequences that this rank computes together.
Index Sharded::most_sequences() const { return shape_of_batch(group_settings(), shards_->ranks()).sequences; }

/// The losses of this rank's sequences; meaningful only in the last stage.
Result<std::vector<float>> Sharded::train_on(const shard::GrainPlan& plan, Index step) {
  const std::vector<shard::Pass> passes = parallel::one_forward_one_backward(
      team_->grid_position().stage, team_->shape().stages, plan.micro_batches());
  WEIR_TRY(shards_->begin_step(plan, passes));
  WEIR_TRY(team_->begin());
  std::vector<float> losses;
  for (const shard::Pass& pass : passes) {
    Tokens& tokens = tokens_[static_cast<size_t>(pass.micro_batch) % tokens_.size()];
    const Batch batch = tokens.batch(plan.of(shards_->rank(), pass.micro_batch));
    if (pass.backward) {
      WEIR_TRY(passes_->backward(batch, pass.micro_batch));
    } else {
      Batch drawn = batch;
      if (outer_ != nullptr) drawn.first += outer_->group() * static_cast<Index>(plan.grains());
      WEIR_TRY(tokens.draw(text_, step, drawn));
      WEIR_TRY(passes_->forward(batch, pass.micro_batch));
      WEIR_TRY(tokens.append_losses(batch, losses));
    }
  }
  WEIR_TRY(team_->pipeline().all_sent());
  return losses;
}

/// Distributes the losses to all ranks.
Result<float> Sharded::sum_of_losses(const shard::GrainPlan& plan, const std::vector<float>& own) {
  auto sum = shards_->sum_over_grains(plan, own);
  WEIR_TRY(sum.status());
  WEIR_TRY(team_->share_of_last(&*sum, sizeof *sum));
  return sum;
}

Result<StepResult> Sharded::step(Index step) {
  const shard::GrainPlan plan = deal_out(group_settings().batch);
  recorder_.begin(step);
  const auto losses = train_on(plan, step);
  WEIR_TRY(losses.status());
  const auto own = static_cast<Index>(plan.of(shards_->rank()).count());
  int64_t begin = Recorder::steady_ns();
  const uint64_t votes = stop_vote() + (world_.has_newcomers() ? kJoinVote : 0);
  const auto sums = shards_->finish_step(static_cast<uint64_t>(own * settings_.config.length), votes);
  WEIR_TRY(sums.status());
  // Nobody gets all sums below before every rank has come this far.
  if (!muon_) commits_.announce({Commit::Kind::update, step, sums->gradient_norm});
  const auto loss = sum_of_losses(plan, *losses);
  WEIR_TRY(loss.status());
  GroupSums all{sums->tokens, sums->votes, static_cast<double>(*loss),
                static_cast<double>(sums->gradient_norm)};
  if (outer_ != nullptr) WEIR_TRY(outer_->combine(all));
  const auto asked = votes_of_all(*team_, all.votes);
  WEIR_TRY(asked.status());
  recorder_.add(Phase::wait, -1, begin);
  begin = Recorder::steady_ns();
  // Of all ranks the same: both are sums over all of them.
  const bool finite = std::isfinite(all.gradient_norm) && std::isfinite(all.loss);
  commits_.announce({Commit::Kind::update, step, sums->gradient_norm});
  WEIR_TRY(commit(finite));
  recorder_.add(Phase::update, -1, begin);
  record_collectives();
  StepResult result = result_of(step, all);
  if (outer_ != nullptr) {
    begin = Recorder::steady_ns();
    if (commits_.standing().meets != 0) {
      WEIR_TRY(meet(step));
      recorder_.add(Phase::sum, -1, begin);
      result.spans = recorder_.spans();
    }
    WEIR_TRY(outer_->send(step));
    const OuterTraffic traffic = outer_->take_traffic();
    result.waited_ms += static_cast<double>(Recorder::steady_ns() - begin) / 1e6;
    result.busy_ms += traffic.busy_ms;
    result.bytes += traffic.bytes;
  }
  WEIR_TRY(complete_checkpoint());
  result.stop_signal = signal_of(*asked);
  result.newcomers = asks_to_join(*asked);
  result.skipped = !finite;
  return result;
}

StepResult Sharded::result_of(Index step, const GroupSums& sums) {
  const shard::PassCounts& shards = shards_->record().counts;
  const shard::PassCounts& parts = team_->record().counts;
  std::vector<shard::Interval> all = shards.intervals;
  const double apart =
      (static_cast<double>(team_->record().begun_ns()) - static_cast<double>(shards_->record().begun_ns())) /
      1e6;
  for (const shard::Interval& own : parts.intervals)
    all.push_back({own.kind, own.unit, own.begin_ms + apart, own.end_ms + apart});
  const RankMemory memory = this->memory();  // of gathered parameters, those that were there at once count
  return StepResult{.loss = sums.loss / static_cast<double>(sums.tokens),
                    .gradient_norm = sums.gradient_norm,
                    .learning_rate = learning_rate_at(settings_, step),
                    .waited_ms = shards.gather_wait_ms + shards.reduce_wait_ms + parts.part_wait_ms,
                    .busy_ms = busy_ms(std::move(all)),
                    .bytes = shards.gather_bytes + shards.reduce_bytes + parts.part_bytes +
                             (muon_ ? muon_->take_bytes() : 0),
                    .memory = memory.total() - memory.gathered + shards_->limiter().most_bytes,
                    .spans = recorder_.spans()};
}

void Sharded::record_collectives() {
  const auto add = [this](const shard::PassRecord& record, int first_unit) {
    for (const shard::Interval& interval : record.counts.intervals) {
      const auto begun = static_cast<int64_t>(record.begun_ns());
      const Shown shown = shown_as(interval.kind);
      recorder_.add(shown.row, shown.phase, interval.unit + first_unit,
                    begun + static_cast<int64_t>(interval.begin_ms * 1e6),
                    begun + static_cast<int64_t>(interval.end_ms * 1e6));
    }
  };
  add(shards_->record(), static_cast<int>(units_.first));
  add(team_->record(), 0);
}

Result<Timeline> Sharded::timeline(std::span<const Span> own) {
  const auto ranks = static_cast<size_t>(world_.ranks());
  std::vector<uint64_t> counts(ranks);
  counts[static_cast<size_t>(world_.rank())] = own.size();
  WEIR_TRY(shard::checked(
      ncclAllReduce(counts.data(), counts.data(), ranks, ncclUint64, ncclSum, world_.comm(), nullptr),
      "counting spans"));
  const size_t most = *std::max_element(counts.begin(), counts.end());
  std::vector<Span> sent(own.begin(), own.end()), all(most * ranks);
  sent.resize(most);
  WEIR_TRY(shard::checked(
      ncclAllGather(sent.data(), all.data(), most * sizeof(Span), ncclInt8, world_.comm(), nullptr),
      "gathering spans"));
  Timeline timeline;
  for (size_t at = 0; at < model_.units().size(); ++at)
    timeline.units.push_back(name_of_unit(at, model_.units().size()));
  for (size_t rank = 0; rank < ranks; ++rank) {
    const auto first = all.begin() + static_cast<ptrdiff_t>(rank * most);
    timeline.spans.emplace_back(first, first + static_cast<ptrdiff_t>(counts[rank]));
  }
  return timeline;
}

Status Sharded::update(Index step, float norm) {
  const AdamW adamw{
      .learning_rate = learning_rate_at(settings_, step),
      .beta1 = settings_.beta1,
      .beta2 = settings_.beta2,
      .epsilon = settings_.epsilon,
      .weight_decay = settings_.weight_decay,
      .gradient_scale = settings_.clip > 0 && norm > settings_.clip ? settings_.clip / norm : 1.0f,
      .step = step + 1};
  for (size_t at = 0; at < moments_.size(); ++at) {
    const int number = static_cast<int>(at);
    const shard::Range own = shards_->shard_range(number);
    optimise(ops_, unit(at).parameters(), adamw, static_cast<Index>(own.first), static_cast<Index>(own.end()),
             shards_->shard(number).data(), shards_->gradient_shard(number).data(), moments_[at].mean.data(),
             moments_[at].variance.data(),
             muon_ && is_block(model_, units_.first + at) ? Tensors::vectors : Tensors::all);
  }
  if (muon_) WEIR_TRY(update_matrices(adamw));
  ops_.finish();
  return ops_.status();
}

Status Sharded::update_matrices(const AdamW& adamw) {
  std::vector<std::span<float>> momentum;
  for (Moments& own : moments_) momentum.emplace_back(own.mean.data(), static_cast<size_t>(own.mean.size()));
  return muon_->step({adamw.learning_rate, adamw.weight_decay, adamw.gradient_scale}, momentum);
}

Result<double> Sharded::evaluate() {
  const OuterParameters outer(outer_.get());
  const Index limit = evaluation_limit(text_.held_out_size(), settings_.config.length);
  const Index asked = settings_.evaluation_sequences;
  const Index count = asked > 0 ? std::min(asked, limit) : limit;
  const shard::GrainPlan plan = deal_out(count);
  WEIR_TRY(team_->begin());
  std::vector<float> losses;
  for (int micro = 0; micro < plan.micro_batches(); ++micro) {
    Tokens& tokens = tokens_.front();
    const Batch batch = tokens.batch(plan.of(shards_->rank(), micro));
    WEIR_TRY(tokens.draw_held_out(text_, count, batch));
    WEIR_TRY(shards_->begin_evaluation());
    WEIR_TRY(passes_->forward(batch, 0));
    WEIR_TRY(tokens.append_losses(batch, losses));
  }
  WEIR_TRY(team_->pipeline().all_sent());
  const auto loss = sum_of_losses(plan, losses);
  WEIR_TRY(loss.status());
  return static_cast<double>(*loss) / static_cast<double>(count * settings_.config.length);
}

Result<std::vector<Token>> Sharded::generate(std::span<const Token> prompt, Index count, float temperature) {
  const OuterParameters outer(outer_.get());
  Tokens& tokens = tokens_.front();
  const Batch batch = tokens.batch({0, 1});
  const auto vocabulary = static_cast<size_t>(settings_.config.vocabulary);
  Array computed;
  WEIR_TRY(make(computed, batch.rows() * settings_.config.vocabulary, where_));
  std::vector<float> logits(vocabulary);
  std::vector<Token> text(prompt.begin(), prompt.end());
  WEIR_TRY(team_->begin());
  for (Index drawn = 0; drawn < count; ++drawn) {
    // The window ends at the last token; causality hides the zeros after it.
    const size_t seen = std::min(text.size(), static_cast<size_t>(settings_.config.length));
    WEIR_TRY(tokens.put(std::span<const Token>(text).last(seen)));
    WEIR_TRY(shards_->begin_evaluation());
    WEIR_TRY(passes_->forward(batch, 0, computed.data()));
    where_.copy(computed.data() + (seen - 1) * vocabulary, vocabulary * sizeof(float), logits.data());
    Token token = 0;
    if (team_->is_last()) token = draw_token(settings_.seed, logits, temperature, drawn);
    WEIR_TRY(team_->share_of_last(&token, sizeof token));
    text.push_back(token);
  }
  WEIR_TRY(team_->pipeline().all_sent());
  return text;
}

RankMemory Sharded::memory() const {
  const shard::EngineMemory shards = shards_->memory();
  Index moments = 0;
  for (const Moments& own : moments_) moments += own.mean.size() + own.variance.size();
  if (muon_) moments += Muon::floats(matrices_of(model_, units_));
  const size_t outer = outer_ != nullptr ? outer_->memory() : 0;
  return {shards.shards + outer + static_cast<size_t>(moments) * sizeof(float), shards.gathered,
          shards.gradients, static_cast<size_t>(passes_->floats()) * sizeof(float)};
}

}  // namespace weir::trainer
