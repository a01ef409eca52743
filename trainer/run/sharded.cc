#include "trainer/run/sharded.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "trainer/data/samples.h"
#include "trainer/math/philox.h"
#include "trainer/math/rows.h"

namespace weir::trainer {
namespace {

/// The gradients of a unit's pieces, on their way to the shards.
class ShardedGradients final : public Gradients {
 public:
  ShardedGradients(shard::Engine& shards, int unit) : shards_(shards), unit_(unit) {}

  float* open() override {
    auto sum = shards_.gradients(unit_);
    if (sum.ok()) return sum->data();
    if (status_.ok()) status_ = sum.status();
    lost_ = Buffer(static_cast<Index>(shards_.units()[static_cast<size_t>(unit_)].parameters));
    return lost_.data();
  }
  void close(Index first) override {
    Status closed = shards_.subtree_done(unit_, {0, static_cast<uint64_t>(first)});
    if (status_.ok()) status_ = std::move(closed);
  }
  const Status& status() const { return status_; }

 private:
  shard::Engine& shards_;
  const int unit_;
  Status status_;
  Buffer lost_;  ///< where gradients go after an error
};

/// Time in which at least one collective was under way.
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

/// As messages call it.
std::string name_of_unit(size_t at, size_t units) {
  if (at == 0) return "embedding";
  return at + 1 == units ? "head" : "block " + std::to_string(at);
}

}  // namespace

Result<std::unique_ptr<Sharded>> Sharded::create(const World& world, const Settings& settings,
                                                 const Model& model, const Text& text, Products& products) {
  std::vector<shard::Unit> units;
  for (size_t at = 0; at < model.units().size(); ++at)
    units.push_back({name_of_unit(at, model.units().size()),
                     static_cast<size_t>(model.units()[at]->parameters().size())});
  shard::EngineOptions options = settings.sharding;
  options.canonical = settings.canonical;
  auto shards = shard::Engine::create(world.comm(), std::move(units), options);
  WEIR_TRY(shards.status());
  std::unique_ptr<Sharded> engine(new Sharded(world, settings, model, text, products, std::move(*shards)));
  engine->make_arrays();
  if (!settings.checkpoints.empty())
    engine->saver_.emplace(world.comm(), settings.checkpoints, settings.checkpoints_kept);
  return engine;
}

Sharded::Sharded(const World& world, const Settings& settings, const Model& model, const Text& text,
                 Products& products, std::unique_ptr<shard::Engine> shards)
    : world_(world),
      settings_(settings),
      model_(model),
      text_(text),
      products_(products),
      shards_(std::move(shards)) {}

void Sharded::make_arrays() {
  const size_t rows = static_cast<size_t>(most_sequences() * settings_.config.length);
  tokens_ = {std::vector<uint8_t>(rows), std::vector<uint8_t>(rows), std::vector<float>(rows)};
  const Batch batch = make_batch({0, static_cast<uint64_t>(most_sequences())});
  const Index activations = batch.rows() * settings_.config.width;
  for (size_t at = 0; at < model_.units().size(); ++at) {
    const Unit& unit = *model_.units()[at];
    const shard::Range own = shards_->shard_range(static_cast<int>(at));
    const bool is_last = &unit == &model_.head();
    arrays_.push_back({Buffer(static_cast<Index>(own.count)), Buffer(static_cast<Index>(own.count)),
                       Buffer(unit.saved_floats(batch)), Buffer(is_last ? 0 : activations)});
    initialise(unit.parameters(), settings_.seed, static_cast<Index>(own.first),
               static_cast<Index>(own.end()), shards_->shard(static_cast<int>(at)).data());
  }
  gradient_ = Buffer(activations);
  scratch_ = Buffer(model_.scratch_floats(batch));
}

shard::GrainPlan Sharded::deal_out(Index sequences) const {
  return {static_cast<uint64_t>(sequences), shards_->ranks(), static_cast<uint64_t>(most_sequences())};
}

/// That go through the model of this rank together.
Index Sharded::most_sequences() const { return shape_of_batch(settings_, shards_->ranks()).sequences; }

Batch Sharded::make_batch(shard::GrainRange sequences) {
  return {.sequences = static_cast<Index>(sequences.count()),
          .length = settings_.config.length,
          .first = static_cast<Index>(sequences.first),
          .tokens = tokens_.inputs.data(),
          .targets = tokens_.targets.data(),
          .losses = tokens_.losses.data(),
          .loss_scale = 1,
          .by_sequence = settings_.canonical};
}

void Sharded::draw(Index step, const Batch& batch) {
  const auto text = text_.training();
  for (Index sequence = 0; sequence < batch.sequences; ++sequence) {
    const Index begin = sample_begin(settings_.seed, step, batch.first + sequence,
                                     static_cast<Index>(text.size()), batch.length);
    const Index at = sequence * batch.length;
    copy_sample(text, begin, batch.length, tokens_.inputs.data() + at, tokens_.targets.data() + at);
  }
}

void Sharded::draw_held_out(Index count, const Batch& batch) {
  const auto text = text_.held_out();
  for (Index sequence = 0; sequence < batch.sequences; ++sequence) {
    const Index begin =
        evaluation_begin(batch.first + sequence, count, static_cast<Index>(text.size()), batch.length);
    const Index at = sequence * batch.length;
    copy_sample(text, begin, batch.length, tokens_.inputs.data() + at, tokens_.targets.data() + at);
  }
}

Result<std::span<const float>> Sharded::gathered(int unit) {
  const int64_t begin = Recorder::steady_ns();
  auto parameters = shards_->gathered(unit);
  recorder_.add(Phase::wait, unit, begin);
  return parameters;
}

Status Sharded::forward(const Batch& batch) {
  const float* input = nullptr;
  for (size_t at = 0; at < arrays_.size(); ++at) {
    const int unit = static_cast<int>(at);
    auto parameters = gathered(unit);
    WEIR_TRY(parameters.status());
    const int64_t begin = Recorder::steady_ns();
    if (batch.sequences > 0)
      model_.units()[at]->forward(compute(), batch, parameters->data(), input, arrays_[at].output.data(),
                                  arrays_[at].saved.data());
    recorder_.add(Phase::forward, unit, begin);
    WEIR_TRY(shards_->release(unit));
    input = arrays_[at].output.data();
  }
  return products_.status();
}

Status Sharded::backward(const Batch& batch) {
  for (size_t at = arrays_.size(); at-- > 0;) {
    const int unit = static_cast<int>(at);
    const float* input = at > 0 ? arrays_[at - 1].output.data() : nullptr;
    auto parameters = gathered(unit);
    WEIR_TRY(parameters.status());
    int64_t begin = Recorder::steady_ns();
    if (batch.sequences > 0) {
      ShardedGradients gradients(*shards_, unit);
      model_.units()[at]->backward(compute(), batch, parameters->data(), input, arrays_[at].saved.data(),
                                   gradient_.data(), gradients);
      WEIR_TRY(gradients.status());
    }
    recorder_.add(Phase::backward, unit, begin);
    begin = Recorder::steady_ns();
    WEIR_TRY(shards_->reduce(unit));
    recorder_.add(Phase::wait, unit, begin);
    WEIR_TRY(shards_->release(unit));
  }
  return products_.status();
}

void Sharded::append_losses(const Batch& batch, std::vector<float>& sums) {
  for (Index sequence = 0; sequence < batch.sequences; ++sequence) {
    double sum = 0;
    for (Index at = 0; at < batch.length; ++at)
      sum += static_cast<double>(batch.losses[sequence * batch.length + at]);
    sums.push_back(static_cast<float>(sum));
  }
}

Result<StepResult> Sharded::step(Index step) {
  const shard::GrainPlan plan = deal_out(settings_.batch);
  recorder_.begin(step);
  WEIR_TRY(shards_->begin_step(plan));
  std::vector<float> losses;
  for (int micro = 0; micro < plan.micro_batches(); ++micro) {
    const Batch batch = make_batch(plan.of(shards_->rank(), micro));
    draw(step, batch);
    WEIR_TRY(forward(batch));
    WEIR_TRY(backward(batch));
    append_losses(batch, losses);
  }
  const auto own = static_cast<Index>(plan.of(shards_->rank()).count());
  int64_t begin = Recorder::steady_ns();
  const auto sums = shards_->finish_step(static_cast<uint64_t>(own * settings_.config.length));
  WEIR_TRY(sums.status());
  const auto loss = shards_->sum_over_grains(plan, losses);
  WEIR_TRY(loss.status());
  recorder_.add(Phase::wait, -1, begin);
  begin = Recorder::steady_ns();
  update(step, sums->gradient_norm);
  recorder_.add(Phase::update, -1, begin);
  record_collectives();
  WEIR_TRY(complete_checkpoint());
  const shard::PassCounts& counts = shards_->counts();
  return StepResult{.loss = static_cast<double>(*loss) / static_cast<double>(sums->tokens),
                    .gradient_norm = static_cast<double>(sums->gradient_norm),
                    .learning_rate = learning_rate_at(settings_, step),
                    .waited_ms = counts.gather_wait_ms + counts.reduce_wait_ms,
                    .busy_ms = busy_ms(counts.intervals),
                    .bytes = counts.gather_bytes + counts.reduce_bytes,
                    .memory = used_memory(),
                    .spans = recorder_.spans()};
}

void Sharded::record_collectives() {
  const auto begun = static_cast<int64_t>(shards_->pass_begun_ns());
  for (const shard::Interval& interval : shards_->counts().intervals) {
    const bool gathers = interval.kind == shard::Kind::gather;
    recorder_.add(gathers ? Row::gathers : Row::reductions, gathers ? Phase::gather : Phase::reduce,
                  interval.unit, begun + static_cast<int64_t>(interval.begin_ms * 1e6),
                  begun + static_cast<int64_t>(interval.end_ms * 1e6));
  }
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
  for (const shard::Unit& unit : shards_->units()) timeline.units.push_back(unit.name);
  for (size_t rank = 0; rank < ranks; ++rank) {
    const auto first = all.begin() + static_cast<ptrdiff_t>(rank * most);
    timeline.spans.emplace_back(first, first + static_cast<ptrdiff_t>(counts[rank]));
  }
  return timeline;
}

void Sharded::update(Index step, float norm) {
  const AdamW adamw{
      .learning_rate = learning_rate_at(settings_, step),
      .beta1 = settings_.beta1,
      .beta2 = settings_.beta2,
      .epsilon = settings_.epsilon,
      .weight_decay = settings_.weight_decay,
      .gradient_scale = settings_.clip > 0 && norm > settings_.clip ? settings_.clip / norm : 1.0f,
      .step = step + 1};
  for (size_t at = 0; at < arrays_.size(); ++at) {
    const int unit = static_cast<int>(at);
    const shard::Range own = shards_->shard_range(unit);
    optimise(model_.units()[at]->parameters(), adamw, static_cast<Index>(own.first),
             static_cast<Index>(own.end()), shards_->shard(unit).data(), shards_->gradient_shard(unit).data(),
             arrays_[at].mean.data(), arrays_[at].variance.data());
  }
}

Result<double> Sharded::evaluate() {
  const Index limit = evaluation_limit(static_cast<Index>(text_.held_out().size()), settings_.config.length);
  const Index asked = settings_.evaluation_sequences;
  const Index count = asked > 0 ? std::min(asked, limit) : limit;
  const shard::GrainPlan plan = deal_out(count);
  std::vector<float> losses;
  for (int micro = 0; micro < plan.micro_batches(); ++micro) {
    const Batch batch = make_batch(plan.of(shards_->rank(), micro));
    draw_held_out(count, batch);
    WEIR_TRY(shards_->begin_evaluation());
    WEIR_TRY(forward(batch));
    append_losses(batch, losses);
  }
  const auto loss = shards_->sum_over_grains(plan, losses);
  WEIR_TRY(loss.status());
  return static_cast<double>(*loss) / static_cast<double>(count * settings_.config.length);
}

std::vector<checkpoint::ShardArray> Sharded::moments() {
  std::vector<checkpoint::ShardArray> moments = {{"mean", {}}, {"variance", {}}};
  for (UnitArrays& own : arrays_) {
    const auto count = static_cast<size_t>(own.mean.size());
    moments[0].units.emplace_back(own.mean.data(), count);
    moments[1].units.emplace_back(own.variance.data(), count);
  }
  return moments;
}

std::vector<uint64_t> Sharded::words() const {
  return {settings_.seed, static_cast<uint64_t>(settings_.batch), text_.bytes().size()};
}

Result<Resumed> Sharded::resume() {
  if (!saver_) return Resumed();
  auto loaded = checkpoint::load_latest(world_.comm(), settings_.checkpoints, *shards_, moments());
  WEIR_TRY(loaded.status());
  if (!loaded->has_value()) return Resumed();
  Resumed resumed{static_cast<Index>((*loaded)->contents.step), std::move((*loaded)->skipped)};
  if ((*loaded)->contents.words != words())
    resumed.notes.push_back(
        "the checkpoint is of another seed, batch or text: what follows is not what it would have been");
  return resumed;
}

Status Sharded::save(Index steps) {
  if (!saver_) return {};
  WEIR_TRY(finish_saving());
  return checkpoint::start_saving(*saver_, *shards_, moments(), static_cast<uint64_t>(steps), words());
}

/// Once all ranks' files are written, so that it is good for something before the next one begins.
Status Sharded::complete_checkpoint() {
  if (!saver_ || !saver_->under_way()) return {};
  int32_t written = saver_->written() ? 1 : 0;
  WEIR_TRY(shard::checked(ncclAllReduce(&written, &written, 1, ncclInt32, ncclMin, world_.comm(), nullptr),
                          "asking for written files"));
  return written != 0 ? saver_->finish() : Status();
}

Status Sharded::finish_saving() { return saver_ && saver_->under_way() ? saver_->finish() : Status(); }

/// A sum over elements, each mixed with its place: the order of ranks and shards does not matter.
Result<uint64_t> Sharded::digest() {
  uint64_t sum = 0;
  for (size_t at = 0; at < arrays_.size(); ++at) {
    const int unit = static_cast<int>(at);
    const shard::Range shard = shards_->shard_range(unit);
    const shard::Range own = shards_->piece_range(unit);
    const float* const kept[] = {shards_->shard(unit).data(), arrays_[at].mean.data(),
                                 arrays_[at].variance.data()};
    for (uint64_t array = 0; array < std::size(kept); ++array)
      for (size_t place = own.first; place < own.end(); ++place)
        sum +=
            mixed(at << 48 | array << 44 | place, std::bit_cast<uint32_t>(kept[array][place - shard.first]));
  }
  WEIR_TRY(
      shard::checked(ncclAllReduce(&sum, &sum, 1, ncclUint64, ncclSum, world_.comm(), nullptr), "digest"));
  return sum;
}

/// A pass of which only the head's logits count.
Status Sharded::draw_logits(const Batch& batch, float* logits) {
  WEIR_TRY(shards_->begin_evaluation());
  const float* input = nullptr;
  for (size_t at = 0; at < arrays_.size(); ++at) {
    const int unit = static_cast<int>(at);
    auto parameters = shards_->gathered(unit);
    WEIR_TRY(parameters.status());
    if (at + 1 < arrays_.size()) {
      model_.units()[at]->forward(compute(), batch, parameters->data(), input, arrays_[at].output.data(),
                                  arrays_[at].saved.data());
    } else {
      model_.head().logits(compute(), batch, parameters->data(), input, logits);
    }
    WEIR_TRY(shards_->release(unit));
    input = arrays_[at].output.data();
  }
  return products_.status();
}

uint8_t Sharded::draw_byte(const float* logits, float temperature, Index place) const {
  const float highest = *std::max_element(logits, logits + kVocabulary);
  std::vector<double> cumulated;
  double sum = 0;
  for (Index at = 0; at < kVocabulary; ++at)
    cumulated.push_back(sum += std::exp(static_cast<double>((logits[at] - highest) / temperature)));
  const PhiloxBlock block = random_block(settings_.seed, Purpose::generate, 0, static_cast<uint64_t>(place));
  const double drawn = to_unit(block[0]) * sum;
  const auto found = std::upper_bound(cumulated.begin(), cumulated.end() - 1, drawn);
  return static_cast<uint8_t>(found - cumulated.begin());
}

Result<std::string> Sharded::generate(const std::string& prompt, Index count, float temperature) {
  const Index length = settings_.config.length;
  const Batch batch = make_batch({0, 1});
  Buffer logits(batch.rows() * kVocabulary);
  std::string text = prompt.empty() ? "\n" : prompt;
  for (Index drawn = 0; drawn < count; ++drawn) {
    // The window's end lies at the last byte, or where causality keeps what follows from being seen.
    const auto seen = std::min(static_cast<Index>(text.size()), length);
    std::fill(tokens_.inputs.begin(), tokens_.inputs.begin() + length, uint8_t{0});
    std::copy(text.end() - seen, text.end(), tokens_.inputs.begin());
    WEIR_TRY(draw_logits(batch, logits.data()));
    text += static_cast<char>(draw_byte(logits.data() + (seen - 1) * kVocabulary, temperature, drawn));
  }
  return text;
}

/// With the parameters that were gathered at once, not those that might have been.
size_t Sharded::used_memory() const {
  const RankMemory memory = this->memory();
  return memory.total() - memory.gathered + shards_->limiter().most_bytes;
}

RankMemory Sharded::memory() const {
  const shard::EngineMemory shards = shards_->memory();
  Index states = 0, activations = gradient_.size() + scratch_.size();
  for (const UnitArrays& own : arrays_) {
    states += own.mean.size() + own.variance.size();
    activations += own.saved.size() + own.output.size();
  }
  return {shards.shards + static_cast<size_t>(states) * sizeof(float), shards.gathered, shards.gradients,
          static_cast<size_t>(activations) * sizeof(float)};
}

}  // namespace weir::trainer
