#include "trainer/run/single_rank.h"

#include <algorithm>
#include <cmath>

#include "trainer/data/samples.h"
#include "trainer/math/philox.h"
#include "trainer/math/rows.h"

namespace weir::trainer {

SingleRank::SingleRank(const Settings& settings, const Model& model, const Text& text, Products& products)
    : settings_(settings), model_(model), text_(text), products_(products) {
  const Index sequences = settings_.sequences_at_once();
  const size_t rows = static_cast<size_t>(sequences * settings_.config.length);
  tokens_ = {std::vector<uint8_t>(rows), std::vector<uint8_t>(rows), std::vector<float>(rows)};
  const Batch batch = make_batch(0, sequences, 1.0f);
  const Index activations = batch.rows() * settings_.config.width;
  for (const auto& unit : model_.units()) {
    const Index size = unit->parameters().size();
    const bool is_last = unit.get() == &model_.head();
    units_.push_back({Buffer(size), Buffer(size), Buffer(size), Buffer(size),
                      Buffer(unit->saved_floats(batch)), Buffer(is_last ? 0 : activations)});
    initialise(unit->parameters(), settings_.seed, 0, size, units_.back().parameters.data());
  }
  gradient_ = Buffer(activations);
  scratch_ = Buffer(model_.scratch_floats(batch));
}

Batch SingleRank::make_batch(Index first, Index sequences, float loss_scale) {
  return {.sequences = sequences,
          .length = settings_.config.length,
          .first = first,
          .tokens = tokens_.inputs.data(),
          .targets = tokens_.targets.data(),
          .losses = tokens_.losses.data(),
          .loss_scale = loss_scale,
          .by_sequence = settings_.canonical};
}

void SingleRank::draw(Index step, const Batch& batch) {
  const auto text = text_.training();
  for (Index sequence = 0; sequence < batch.sequences; ++sequence) {
    const Index begin = sample_begin(settings_.seed, step, batch.first + sequence,
                                     static_cast<Index>(text.size()), batch.length);
    const Index at = sequence * batch.length;
    copy_sample(text, begin, batch.length, tokens_.inputs.data() + at, tokens_.targets.data() + at);
  }
}

void SingleRank::forward(const Batch& batch) {
  const float* input = nullptr;
  for (size_t at = 0; at < units_.size(); ++at) {
    UnitArrays& own = units_[at];
    model_.units()[at]->forward(compute(), batch, own.parameters.data(), input, own.output.data(),
                                own.saved.data());
    input = own.output.data();
  }
}

void SingleRank::backward(const Batch& batch, std::vector<TreeSum>& trees) {
  for (size_t at = units_.size(); at-- > 0;) {
    UnitArrays& own = units_[at];
    const float* input = at > 0 ? units_[at - 1].output.data() : nullptr;
    PlainGradients plain(own.gradients.data());
    TreeGradients tree(trees[at]);
    Gradients& gradients = settings_.canonical ? static_cast<Gradients&>(tree) : plain;
    model_.units()[at]->backward(compute(), batch, own.parameters.data(), input, own.saved.data(),
                                 gradient_.data(), gradients);
  }
}

void SingleRank::append_losses(const Batch& batch, std::vector<double>& sums) const {
  for (Index sequence = 0; sequence < batch.sequences; ++sequence) {
    double sum = 0;
    for (Index at = 0; at < batch.length; ++at)
      sum += static_cast<double>(batch.losses[sequence * batch.length + at]);
    sums.push_back(sum);
  }
}

Result<StepResult> SingleRank::step(Index step) {
  const double tokens = static_cast<double>(settings_.batch * settings_.config.length);
  std::vector<TreeSum> trees;
  for (UnitArrays& own : units_) {
    own.gradients.clear();
    trees.emplace_back(own.gradients.size(), settings_.batch);
  }
  std::vector<double> losses;
  for (Index first = 0; first < settings_.batch; first += settings_.sequences_at_once()) {
    const Index sequences = std::min(settings_.sequences_at_once(), settings_.batch - first);
    const Batch batch = make_batch(first, sequences, static_cast<float>(1.0 / tokens));
    draw(step, batch);
    forward(batch);
    backward(batch, trees);
    append_losses(batch, losses);
  }
  if (settings_.canonical)
    for (size_t at = 0; at < units_.size(); ++at) trees[at].add_root_to(units_[at].gradients.data());
  if (!products_.status().ok()) return products_.status();
  const double norm = gradient_norm();
  update(step, norm);
  return StepResult{tree_sum(losses) / tokens, norm, learning_rate_at(settings_, step)};
}

double SingleRank::gradient_norm() const {
  std::vector<double> squares;
  for (const UnitArrays& own : units_) append_squares(own.gradients.size(), own.gradients.data(), squares);
  return std::sqrt(tree_sum(squares));
}

void SingleRank::update(Index step, double norm) {
  const auto clip = static_cast<double>(settings_.clip);
  const AdamW adamw{.learning_rate = learning_rate_at(settings_, step),
                    .beta1 = settings_.beta1,
                    .beta2 = settings_.beta2,
                    .epsilon = settings_.epsilon,
                    .weight_decay = settings_.weight_decay,
                    .gradient_scale = clip > 0 && norm > clip ? static_cast<float>(clip / norm) : 1.0f,
                    .step = step + 1};
  for (size_t at = 0; at < units_.size(); ++at) {
    UnitArrays& own = units_[at];
    optimise(model_.units()[at]->parameters(), adamw, 0, own.parameters.size(), own.parameters.data(),
             own.gradients.data(), own.mean.data(), own.variance.data());
  }
}

Result<double> SingleRank::evaluate() {
  const auto text = text_.held_out();
  const auto size = static_cast<Index>(text.size());
  const Index length = settings_.config.length;
  const Index limit = evaluation_limit(size, length);
  const Index asked = settings_.evaluation_sequences;
  const Index count = asked > 0 ? std::min(asked, limit) : limit;
  std::vector<double> losses;
  for (Index first = 0; first < count; first += settings_.sequences_at_once()) {
    const Batch batch = make_batch(first, std::min(settings_.sequences_at_once(), count - first), 1.0f);
    for (Index sequence = 0; sequence < batch.sequences; ++sequence)
      copy_sample(text, evaluation_begin(first + sequence, count, size, length), length,
                  tokens_.inputs.data() + sequence * length, tokens_.targets.data() + sequence * length);
    forward(batch);
    append_losses(batch, losses);
  }
  if (!products_.status().ok()) return products_.status();
  return tree_sum(losses) / static_cast<double>(count * length);
}

uint8_t SingleRank::draw_byte(const float* logits, float temperature, Index place) const {
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

Result<std::string> SingleRank::generate(const std::string& prompt, Index count, float temperature) {
  const Index length = settings_.config.length;
  const Batch batch = make_batch(0, 1, 1.0f);
  Buffer logits(batch.rows() * kVocabulary);
  std::string text = prompt.empty() ? "\n" : prompt;
  for (Index drawn = 0; drawn < count; ++drawn) {
    // The window's end lies at the last byte, or where causality keeps what follows from being seen.
    const auto seen = std::min(static_cast<Index>(text.size()), length);
    std::fill(tokens_.inputs.begin(), tokens_.inputs.begin() + length, uint8_t{0});
    std::copy(text.end() - seen, text.end(), tokens_.inputs.begin());
    forward(batch);
    model_.head().logits(compute(), batch, units_.back().parameters.data(), (units_.end() - 2)->output.data(),
                         logits.data());
    if (!products_.status().ok()) return products_.status();
    text += static_cast<char>(draw_byte(logits.data() + (seen - 1) * kVocabulary, temperature, drawn));
  }
  return text;
}

Index SingleRank::memory() const {
  Index floats = gradient_.size() + scratch_.size();
  for (const UnitArrays& own : units_)
    floats += own.parameters.size() + own.gradients.size() + own.mean.size() + own.variance.size() +
              own.saved.size() + own.output.size();
  return floats * static_cast<Index>(sizeof(float));
}

}  // namespace weir::trainer
