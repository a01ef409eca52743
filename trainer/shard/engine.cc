// SPDX-License-Identifier: Apache-2.0

#include "trainer/shard/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "trainer/shard/groups.h"
#include "trainer/shard/norm.h"

namespace weir::shard {
namespace {

std::vector<float*> floats_of(const std::vector<Memory>& arrays) {
  std::vector<float*> pointers;
  for (const Memory& array : arrays) pointers.push_back(array.floats());
  return pointers;
}

size_t bytes_of(const std::vector<Memory>& arrays) {
  size_t bytes = 0;
  for (const Memory& array : arrays) bytes += array.bytes();
  return bytes;
}

std::vector<Pass> in_turn(int micro_batches) {
  std::vector<Pass> passes;
  for (int micro_batch = 0; micro_batch < micro_batches; ++micro_batch)
    passes.insert(passes.end(), {{micro_batch, false}, {micro_batch, true}});
  return passes;
}

Status check_order(const std::vector<Pass>& passes, int micro_batches) {
  int forward = 0, backward = 0;
  bool ordered = true;
  for (const Pass& pass : passes) {
    int& next = pass.backward ? backward : forward;
    ordered = ordered && pass.micro_batch == next++ && backward <= forward;
  }
  if (ordered && forward == micro_batches && backward == micro_batches) return Status();
  return Status(Code::invalid_argument,
                fmt::format("an order of {} passes for {} micro-batches; expected each forward once and then "
                            "backward once, in order",
                            passes.size(), micro_batches));
}

}  // namespace

ShardEngine::ShardEngine(ncclComm_t world, std::vector<Unit> units, const EngineOptions& options)
    : world_(world),
      units_(std::move(units)),
      options_(options),
      arrays_(options.gpu),
      reduced_(units_.size()) {}

Result<std::unique_ptr<ShardEngine>> ShardEngine::create(ncclComm_t world, std::vector<Unit> units,
                                                         const EngineOptions& options) {
  if (units.empty()) return Status(Code::invalid_argument, "the engine has no units; expected at least one");
  for (const Unit& unit : units)
    if (unit.parameters == 0)
      return Status(Code::invalid_argument,
                    fmt::format("{} has no parameters; expected at least one", unit.name));
  if (options.reductions < 1)
    return Status(Code::invalid_argument,
                  fmt::format("{} reductions in flight; expected a limit of at least 1", options.reductions));
  if (options.canonical && options.reduce != Precision::float32)
    return Status(Code::invalid_argument,
                  fmt::format("canonical sums with gradients in {}; expected fp32", name_of(options.reduce)));
  for (const Precision precision : {options.gather, options.reduce})
    if (options.gpu != nullptr && is_quantized(precision))
      return Status(Code::invalid_argument,
                    fmt::format("collectives in {} with arrays on a GPU; expected fp32 or bf16 there",
                                name_of(precision)));
  std::unique_ptr<ShardEngine> engine(new ShardEngine(world, std::move(units), options));
  WEIR_TRY(engine->kept(engine->set_up()));
  return engine;
}

ShardEngine::~ShardEngine() {
  if (failed_) abort();
}

Status ShardEngine::set_up() {
  Result<std::vector<Place>> places = make_places(world_, options_.strategy, options_.shard_ranks);
  if (!places.ok()) return places.status();
  places_ = std::move(*places);
  WEIR_TRY(checked(ncclCommUserRank(world_, &rank_), "engine"));
  Result<PassRecord> record = PassRecord::make(options_.gpu);
  if (!record.ok()) return record.status();
  record_.emplace(std::move(*record));
  WEIR_TRY(make_shards());
  WEIR_TRY(make_gathers());
  WEIR_TRY(make_reductions());
  return join_parts();
}

Status ShardEngine::make_shards() {
  const Place& place = places_[rank_];
  for (const Unit& unit : units_) {
    const Cut& cut = cuts_.emplace_back(unit.parameters, place.shards, place.replicas);
    const size_t gradients = std::max(cut.shard_length(), cut.piece_length() * place.replicas);
    Result<Memory> master = Memory::allocate(cut.shard_length() * sizeof(float), options_.gpu);
    if (!master.ok()) return master.status();
    Result<Memory> gradient = Memory::allocate(gradients * sizeof(float), options_.gpu);
    if (!gradient.ok()) return gradient.status();
    masters_.push_back(std::move(*master));
    gradients_.push_back(std::move(*gradient));
  }
  return Status();
}

Status ShardEngine::make_gathers() {
  const Place& place = places_[rank_];
  Communicator comm;
  if (place.shards > 1) {
    Result<Communicator> made = Communicator::split(world_, place.replica, place.shard, "gathers");
    if (!made.ok()) return made.status();
    comm = std::move(*made);
  }
  Communicator group;
  if (place.group_ranks > 1) {
    Result<Communicator> made = Communicator::split(world_, place.group, place.group_rank, "secondary copy");
    if (!made.ok()) return made.status();
    group = std::move(*made);
  }
  GatherOptions options;
  options.place = place;
  options.reshard = reshards(options_.strategy);
  options.forward_prefetch = options_.forward_prefetch;
  options.backward_prefetch = options_.backward_prefetch;
  options.precision = options_.gather;
  options.limiter = options_.limiter;
  options.gpu = options_.gpu;
  Result<Gathers> gathers =
      Gathers::make(units_, cuts_, floats_of(masters_), std::move(comm), std::move(group), options, *record_);
  if (!gathers.ok()) return gathers.status();
  gathers_.emplace(std::move(*gathers));
  return Status();
}

Status ShardEngine::make_reductions() {
  const Place& place = places_[rank_];
  Communicator shards, replicas;
  if (options_.canonical || place.shards > 1) {
    const int color = options_.canonical ? 0 : place.replica;
    const int key = options_.canonical ? rank_ : place.shard;
    Result<Communicator> made = Communicator::split(world_, color, key, "reductions");
    if (!made.ok()) return made.status();
    shards = std::move(*made);
  }
  if (place.replicas > 1) {
    Result<Communicator> made = Communicator::split(world_, place.shard, place.replica, "replicas");
    if (!made.ok()) return made.status();
    replicas = std::move(*made);
  }
  ReductionSetup setup{
      units_,          cuts_,     places_,     rank_, floats_of(gradients_), options_.reductions,
      options_.reduce, &*record_, options_.gpu};
  const auto make = options_.canonical ? canonical_reductions : plain_reductions;
  Result<std::unique_ptr<Reductions>> made = make(std::move(setup), std::move(shards), std::move(replicas));
  if (!made.ok()) return made.status();
  reductions_ = std::move(*made);
  return Status();
}

std::span<float> ShardEngine::shard(int unit) { return {masters_[unit].floats(), shard_range(unit).count}; }

std::span<float> ShardEngine::gradient_shard(int unit) {
  return {gradients_[unit].floats(), shard_range(unit).count};
}

Status ShardEngine::usable() const {
  return failed_ ? Status(Code::invalid_usage, "the engine has failed or was aborted; expected a new one")
                 : Status();
}

Status ShardEngine::begin_step(const GrainPlan& plan, std::vector<Pass> passes) {
  WEIR_TRY(usable());
  if (!gathers_->finished())
    return Status(Code::invalid_usage, "begin_step before all units of the last pass were released");
  if (plan.ranks() != ranks() || plan.grains() == 0)
    return Status(Code::invalid_argument,
                  fmt::format("a plan of {} grains for {} ranks; expected at least one "
                              "grain, for {} ranks",
                              plan.grains(), plan.ranks(), ranks()));
  if (passes.empty()) passes = in_turn(plan.micro_batches());
  WEIR_TRY(check_order(passes, plan.micro_batches()));
  training_ = true;
  WEIR_TRY(kept(record_->begin()));
  WEIR_TRY(kept(reductions_->begin(plan)));
  return kept(gathers_->begin(Visits(static_cast<int>(units_.size()), std::move(passes))));
}

Status ShardEngine::begin_evaluation() {
  WEIR_TRY(usable());
  if (!gathers_->finished())
    return Status(Code::invalid_usage, "begin_evaluation before all units of the last pass were released");
  training_ = false;
  WEIR_TRY(kept(record_->begin()));
  return kept(gathers_->begin(Visits(static_cast<int>(units_.size()), 1, false)));
}

Result<std::span<const float>> ShardEngine::gathered(int unit) {
  WEIR_TRY(usable());
  Result<std::span<const float>> parameters = gathers_->gathered(unit);
  if (!parameters.ok()) return kept(parameters.status());
  return parameters;
}

Status ShardEngine::release(int unit) {
  WEIR_TRY(usable());
  if (training_ && !gathers_->finished() && gathers_->visit().backward && gathers_->visit().unit == unit &&
      !reduced_[unit])
    return Status(Code::invalid_usage, fmt::format("release of {} before its gradients were reduced", unit));
  if (unit >= 0 && unit < static_cast<int>(units_.size())) reduced_[unit] = false;
  return kept(gathers_->release(unit));
}

Status ShardEngine::check_backward(int unit, const char* function) const {
  WEIR_TRY(usable());
  if (!gathers_->finished()) {
    const Visit now = gathers_->visit();
    if (now.backward && now.unit == unit && !reduced_[unit]) return Status();
  }
  return Status(
      Code::invalid_usage,
      fmt::format("{} of unit {}, which is not being visited backward, or was reduced", function, unit));
}

Result<std::span<float>> ShardEngine::gradients(int unit) {
  WEIR_TRY(check_backward(unit, "gradients"));
  Result<std::span<float>> array = reductions_->gradients(unit);
  if (!array.ok()) return kept(array.status());
  return array;
}

Status ShardEngine::close(int unit, GrainRange grains) {
  WEIR_TRY(check_backward(unit, "close"));
  return reductions_->close(unit, grains);
}

Status ShardEngine::reduce(int unit) {
  WEIR_TRY(check_backward(unit, "reduce"));
  reduced_[unit] = true;
  return kept(reductions_->reduce(unit, gathers_->visit().micro_batch));
}

Result<StepSums> ShardEngine::finish_step(uint64_t tokens, uint64_t votes) {
  WEIR_TRY(usable());
  if (!training_ || !gathers_->finished())
    return Status(Code::invalid_usage, "finish_step before all units of a training step were released");
  training_ = false;
  uint64_t counts[] = {tokens, votes};
  WEIR_TRY(
      kept(checked(ncclAllReduce(counts, counts, std::size(counts), ncclUint64, ncclSum, world_, nullptr),
                   "counting tokens")));
  StepSums sums{.tokens = counts[0], .votes = counts[1]};
  if (sums.tokens == 0)
    return Status(Code::invalid_argument, "the step has no tokens; expected at least one");
  WEIR_TRY(kept(reductions_->finish()));
  const float share = 1.0F / static_cast<float>(sums.tokens);
  for (size_t unit = 0; unit < units_.size(); ++unit) {
    const std::span<float> gradients = gradient_shard(static_cast<int>(unit));
    arrays_.scale(share, gradients.size(), gradients.data());
  }
  Result<float> norm = gradient_norm();
  if (!norm.ok()) return kept(norm.status());
  sums.gradient_norm = *norm;
  return sums;
}

/// Each block of a unit is squared by the one rank of a copy that owns it; the others add 0.
Result<float> ShardEngine::gradient_norm() {
  std::vector<float> blocks(norm_blocks_);
  size_t before = norm_blocks_before_;
  for (size_t unit = 0; unit < units_.size(); ++unit) {
    const Range own = shard_range(static_cast<int>(unit));
    const std::span<const float> gradients = gradient_shard(static_cast<int>(unit));
    for (const NormPart& part : norm_parts(units_[unit], own))
      arrays_.square_blocks(gradients.subspan(part.range.first - own.first, part.range.count),
                            blocks.data() + before + part.block);
    before += norm_blocks(units_[unit]);
  }
  WEIR_TRY(arrays_.status());
  for (ncclComm_t comm : {gathers_->communicator().handle(), options_.replica})
    if (comm != nullptr)
      WEIR_TRY(checked(
          ncclAllReduce(blocks.data(), blocks.data(), blocks.size(), ncclFloat, ncclSum, comm, nullptr),
          "the norm of gradients"));
  return std::sqrt(weirTreeSum(blocks.data(), blocks.size()));
}

/// Exchanges the number of norm blocks of the other parts of the model.
Status ShardEngine::join_parts() {
  int part = 0, parts = 1;
  if (options_.replica != nullptr) {
    WEIR_TRY(checked(ncclCommUserRank(options_.replica, &part), "parts"));
    WEIR_TRY(checked(ncclCommCount(options_.replica, &parts), "parts"));
  }
  std::vector<uint64_t> blocks(static_cast<size_t>(parts));
  for (const Unit& unit : units_) blocks[static_cast<size_t>(part)] += norm_blocks(unit);
  if (options_.replica != nullptr)
    WEIR_TRY(checked(ncclAllGather(&blocks[static_cast<size_t>(part)], blocks.data(), 1, ncclUint64,
                                   options_.replica, nullptr),
                     "parts"));
  const auto own = blocks.begin() + part;
  norm_blocks_before_ = std::accumulate(blocks.begin(), own, size_t{0});
  norm_blocks_ = std::accumulate(own, blocks.end(), norm_blocks_before_);
  return {};
}

Result<float> ShardEngine::sum_over_grains(const GrainPlan& plan, std::span<const float> own) {
  WEIR_TRY(usable());
  const GrainRange range = plan.of(rank_);
  if (plan.ranks() != ranks() || own.size() != range.count())
    return Status(Code::invalid_argument,
                  fmt::format("{} values for the {} grains of rank {}", own.size(), range.count(), rank_));
  std::vector<float> all(plan.grains());
  std::copy(own.begin(), own.end(), all.begin() + static_cast<ptrdiff_t>(range.first));
  WEIR_TRY(
      kept(checked(ncclAllReduce(all.data(), all.data(), all.size(), ncclFloat, ncclSum, world_, nullptr),
                   "summing over grains")));
  return weirTreeSum(all.data(), all.size());
}

EngineMemory ShardEngine::memory() const {
  size_t largest = 0;
  for (const Cut& cut : cuts_) largest = std::max(largest, cut.padded());
  EngineMemory memory;
  memory.shards = bytes_of(masters_) + bytes_of(gradients_) + gathers_->secondary_bytes();
  memory.gathered = gathers_->capacity();
  if (!options_.canonical)
    memory.gradients = options_.reductions * largest * bytes_under_way(places_[rank_], options_.reduce);
  return memory;
}

void ShardEngine::abort() {
  failed_ = true;
  if (gathers_) gathers_->abort();
  if (reductions_ != nullptr) reductions_->abort();
}

Status ShardEngine::kept(Status status) {
  const Code code = status.code();
  if (code != Code::success && code != Code::invalid_argument && code != Code::invalid_usage) failed_ = true;
  return status;
}

}  // namespace weir::shard
