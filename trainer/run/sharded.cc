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

/// The finaliser of SplitMix64 (Steele et al., 2014), twice.
uint64_t mixed(uint64_t place, uint64_t value) {
  const auto mix = [](uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  };
  return mix(mix(place + 0x9e3779b97f4a7c15) ^ value);
}

/// The name of a unit in messages.
std::string name_of_unit(size_t at, size_t units) {
  if (at == 0) return "embedding";
  return at + 1 == units ? "head" : "block " + std::to_string(at);
}

/// The units of the whole model, or of the part of it in `range` of which this rank has a slice.
std::vector<shard::Unit> units_in(const Model& model, const parallel::UnitRange& range) {
  std::vector<shard::Unit> units;
  for (size_t at = range.first; at < range.end; ++at) {
    const ParameterTable& table = model.units()[at]->parameters();
    shard::Unit& unit = units.emplace_back();
    unit.name = name_of_unit(at, model.units().size());
    unit.parameters = static_cast<size_t>(table.size());
    for (const ContiguousRange& stretch : table.stretches())
      unit.stretches.push_back({static_cast<size_t>(stretch.first), static_cast<size_t>(stretch.whole),
                                static_cast<size_t>(stretch.count),
                                !stretch.copied || model.slice().index == 0});
  }
  return units;
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

/// While it lives, the engine has the outer parameters instead of those of the group, if there are such.
class OuterParameters {
 public:
  explicit OuterParameters(OuterOptimizer* outer) : outer_(outer) {
    if (outer_ != nullptr) outer_->exchange();
  }
  ~OuterParameters() {
    if (outer_ != nullptr) outer_->exchange();
  }
  OuterParameters(const OuterParameters&) = delete;
  OuterParameters& operator=(const OuterParameters&) = delete;

 private:
  OuterOptimizer* const outer_;
};

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

Status Sharded::make(Array& array, Index count) const {
  auto made = Array::make(count, where_.gpu());
  if (made.ok()) array = std::move(*made);
  return made.status();
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
    const shard::Range own = shards_->shard_range(static_cast<int>(at));
    Moments& moments = moments_.emplace_back();
    WEIR_TRY(make(moments.mean, static_cast<Index>(own.count)));
    WEIR_TRY(make(moments.variance, static_cast<Index>(own.count)));
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
  const auto sums = shards_->finish_step(static_cast<uint64_t>(own * settings_.config.length), stop_vote());
  WEIR_TRY(sums.status());
  const auto loss = sum_of_losses(plan, *losses);
  WEIR_TRY(loss.status());
  const auto all = sums_of(*sums, *loss);
  WEIR_TRY(all.status());
  const auto signal = agreed_signal(all->votes);
  WEIR_TRY(signal.status());
  recorder_.add(Phase::wait, -1, begin);
  begin = Recorder::steady_ns();
  // Of all ranks the same: both are sums over all of them.
  const bool finite = std::isfinite(all->gradient_norm) && std::isfinite(all->loss);
  if (finite) WEIR_TRY(update(step, sums->gradient_norm));
  recorder_.add(Phase::update, -1, begin);
  record_collectives();
  StepResult result = result_of(step, *all);
  if (outer_ != nullptr && outer_->meets_after(step)) {
    begin = Recorder::steady_ns();
    WEIR_TRY(outer_->step(step));
    recorder_.add(Phase::sum, -1, begin);
    const double took = static_cast<double>(Recorder::steady_ns() - begin) / 1e6;
    result.waited_ms += took;
    result.busy_ms += took;
    result.bytes += outer_->bytes();
    result.spans = recorder_.spans();
  }
  WEIR_TRY(complete_checkpoint());
  result.stop_signal = *signal;
  result.skipped = !finite;
  return result;
}

/// The signal for which all ranks stop; 0: none. Ranks with other parts of the model have other votes.
Result<int> Sharded::agreed_signal(uint64_t votes_of_part) const {
  uint64_t votes = votes_of_part;
  if (team_->replica() != nullptr)
    WEIR_TRY(shard::checked(ncclAllReduce(&votes, &votes, 1, ncclUint64, ncclSum, team_->replica(), nullptr),
                            "counting votes"));
  return signal_of(votes);
}

/// The sums of the step over all groups.
Result<GroupSums> Sharded::sums_of(const shard::StepSums& sums, float loss) {
  GroupSums all{sums.tokens, sums.votes, static_cast<double>(loss), static_cast<double>(sums.gradient_norm)};
  if (outer_ != nullptr) WEIR_TRY(outer_->combine(all));
  return all;
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
  return StepResult{.loss = sums.loss / static_cast<double>(sums.tokens),
                    .gradient_norm = sums.gradient_norm,
                    .learning_rate = learning_rate_at(settings_, step),
                    .waited_ms = shards.gather_wait_ms + shards.reduce_wait_ms + parts.part_wait_ms,
                    .busy_ms = busy_ms(std::move(all)),
                    .bytes = shards.gather_bytes + shards.reduce_bytes + parts.part_bytes +
                             (muon_ ? muon_->take_bytes() : 0),
                    .memory = used_memory(),
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

checkpoint::WholeModel Sharded::whole_model() const {
  checkpoint::WholeModel whole{units_in(model_, {0, model_.units().size()}),
                               static_cast<uint32_t>(units_.first),
                               outer_ == nullptr || outer_->group() == 0};
  for (size_t at = 0; at < whole.units.size(); ++at)
    whole.units[at].parameters = static_cast<size_t>(model_.units()[at]->parameters().whole_size());
  return whole;
}

std::vector<checkpoint::ShardArray> Sharded::saved_arrays() {
  std::vector<checkpoint::ShardArray> moments = {{"mean", {}}, {"variance", {}}};
  for (Moments& own : moments_) {
    const auto count = static_cast<size_t>(own.mean.size());
    moments[0].units.emplace_back(own.mean.data(), count);
    moments[1].units.emplace_back(own.variance.data(), count);
  }
  return outer_ != nullptr ? outer_->arrays(moments) : moments;
}

Result<Resumed> Sharded::resume(bool regrouped) {
  if (!saver_) return Resumed();
  const auto arrays = saved_arrays();
  WEIR_TRY(saver_->open(regrouped, checkpoint::bytes_to_save(*shards_, arrays, whole_model())));
  const OuterParameters outer(outer_.get());
  auto loaded = checkpoint::load_latest(world_.comm(), settings_.checkpoints, *shards_, arrays, whole_model(),
                                        settings_.checkpoints_local);
  WEIR_TRY(loaded.status());
  if (!loaded->has_value()) return Resumed();
  Resumed resumed{static_cast<Index>((*loaded)->contents.step), std::move((*loaded)->skipped)};
  const auto changed =
      compare_words((*loaded)->contents.words, checkpoint_words(settings_, text_), settings_.allowed_changes);
  if (!changed.ok())
    return Status(changed.status().code(),
                  fmt::format("the checkpoint of step {} in {} was written {}", resumed.step,
                              settings_.checkpoints, changed.status().message()));
  if (!changed->empty())
    resumed.notes.push_back(fmt::format(
        "the checkpoint was written with another {}; the results differ from those of one uninterrupted run",
        *changed));
  return resumed;
}

Result<Resumed> Sharded::load(const std::string& path) {
  const OuterParameters outer(outer_.get());
  auto loaded = checkpoint::load_latest(world_.comm(), path, *shards_, saved_arrays(), whole_model(),
                                        settings_.checkpoints_local);
  WEIR_TRY(loaded.status());
  if (!loaded->has_value())
    return Status(Code::invalid_argument,
                  fmt::format("{}: expected a checkpoint, or a folder with one", path));
  return Resumed{static_cast<Index>((*loaded)->contents.step), std::move((*loaded)->skipped)};
}

/// Each element is in the piece of one rank; the others add zero bits to it.
Result<std::vector<float>> Sharded::whole_unit(size_t at) {
  const OuterParameters outer(outer_.get());
  const auto elements = static_cast<size_t>(model_.units()[at]->parameters().whole_size());
  std::vector<uint32_t> bits(elements);
  if (whole_model().saved && at >= units_.first && at < units_.end) {
    const int own = static_cast<int>(at - units_.first);
    const shard::Range shard = shards_->shard_range(own);
    std::vector<float> values(shard.count);
    where_.copy(shards_->shard(own).data(), shard.count * sizeof(float), values.data());
    for (const shard::ContiguousRange& stretch :
         stretches_in(shards_->units()[static_cast<size_t>(own)], shards_->piece_range(own)))
      for (size_t place = 0; stretch.counts && place < stretch.count; ++place)
        bits[stretch.whole + place] = std::bit_cast<uint32_t>(values[stretch.first + place - shard.first]);
  }
  WEIR_TRY(where_.status());
  WEIR_TRY(shard::checked(
      ncclReduce(bits.data(), bits.data(), elements, ncclUint32, ncclSum, 0, world_.comm(), nullptr),
      "collecting parameters"));
  if (world_.rank() != 0) return std::vector<float>();
  std::vector<float> values(elements);
  std::ranges::transform(bits, values.begin(), [](uint32_t word) { return std::bit_cast<float>(word); });
  return values;
}

Status Sharded::save(Index steps) {
  if (!saver_) return {};
  WEIR_TRY(finish_saving());
  const OuterParameters outer(outer_.get());
  return checkpoint::start_saving(*saver_, *shards_, saved_arrays(), static_cast<uint64_t>(steps),
                                  checkpoint_words(settings_, text_), whole_model());
}

/// Completes the checkpoint once all ranks' files are written, so that it can be used before the next save
/// begins.
Status Sharded::complete_checkpoint() {
  if (!saver_ || !saver_->under_way()) return {};
  int32_t written = saver_->written() ? 1 : 0;
  WEIR_TRY(shard::checked(ncclAllReduce(&written, &written, 1, ncclInt32, ncclMin, world_.comm(), nullptr),
                          "checking for written files"));
  return written != 0 ? saver_->finish() : Status();
}

Status Sharded::finish_saving() { return saver_ && saver_->under_way() ? saver_->finish() : Status(); }

/// A sum over elements, each mixed with its position: the order of ranks, shards and parts does not matter.
Result<uint64_t> Sharded::digest() {
  uint64_t sum = 0;
  const uint64_t group = outer_ != nullptr ? static_cast<uint64_t>(outer_->group()) << 32 : 0;
  for (size_t at = 0; at < moments_.size(); ++at) {
    const int number = static_cast<int>(at);
    const shard::Range shard = shards_->shard_range(number);
    const auto own = stretches_in(shards_->units()[at], shards_->piece_range(number));
    std::vector<const float*> kept = {shards_->shard(number).data(), moments_[at].mean.data(),
                                      moments_[at].variance.data()};
    if (outer_ != nullptr) std::ranges::copy(outer_->state(at), std::back_inserter(kept));
    std::vector<float> values(shard.count);
    for (uint64_t array = 0; array < kept.size(); ++array) {
      where_.copy(kept[array], shard.count * sizeof(float), values.data());
      for (const shard::ContiguousRange& stretch : own)
        for (size_t place = 0; stretch.counts && place < stretch.count; ++place)
          sum += mixed((units_.first + at) << 48 | array << 44 | (stretch.whole + place),
                       group | std::bit_cast<uint32_t>(values[stretch.first + place - shard.first]));
    }
  }
  WEIR_TRY(where_.status());
  WEIR_TRY(
      shard::checked(ncclAllReduce(&sum, &sum, 1, ncclUint64, ncclSum, world_.comm(), nullptr), "digest"));
  return sum;
}

Token Sharded::draw_token(std::span<const float> logits, float temperature, Index place) const {
  const float highest = *std::ranges::max_element(logits);
  std::vector<double> cumulated;
  double sum = 0;
  for (const float logit : logits)
    cumulated.push_back(sum += std::exp(static_cast<double>((logit - highest) / temperature)));
  const PhiloxBlock block = random_block(settings_.seed, Purpose::generate, 0, static_cast<uint64_t>(place));
  const double drawn = to_unit(block[0]) * sum;
  const auto found = std::upper_bound(cumulated.begin(), cumulated.end() - 1, drawn);
  return static_cast<Token>(found - cumulated.begin());
}

Result<std::vector<Token>> Sharded::generate(std::span<const Token> prompt, Index count, float temperature) {
  const OuterParameters outer(outer_.get());
  Tokens& tokens = tokens_.front();
  const Batch batch = tokens.batch({0, 1});
  const auto vocabulary = static_cast<size_t>(settings_.config.vocabulary);
  Array computed;
  WEIR_TRY(make(computed, batch.rows() * settings_.config.vocabulary));
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
    if (team_->is_last()) token = draw_token(logits, temperature, drawn);
    WEIR_TRY(team_->share_of_last(&token, sizeof token));
    text.push_back(token);
  }
  WEIR_TRY(team_->pipeline().all_sent());
  return text;
}

/// Counts the parameters that were gathered at once, not those that might have been.
size_t Sharded::used_memory() const {
  const RankMemory memory = this->memory();
  return memory.total() - memory.gathered + shards_->limiter().most_bytes;
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
