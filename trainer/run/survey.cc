// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "trainer/math/gpu/gpu_ops.h"
#include "trainer/run/computing_survey.h"
#include "trainer/run/turns.h"
#include "trainer/shard/calls.h"
#include "trainer/shard/groups.h"

namespace weir::trainer {
namespace {

using shard::checked;

constexpr double kPartOfMemory = 0.8;

/// Bytes of free memory on this machine, or on its GPU.
Result<double> available_bytes(gpu::GpuOps* gpu) {
  if (gpu != nullptr) {
    const auto left = gpu->gpu().available();
    WEIR_TRY(left.status());
    return static_cast<double>(*left);
  }
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    double kib = 0;
    if (word == "MemAvailable:" && file >> kib) return kib * 1024;
  }
  return Status(Code::system_error,
                "/proc/meminfo has no line MemAvailable; expected the option --memory BYTES");
}

/// The ranks of a host share its GPUs round-robin.
Result<double> memory_per_rank(const World& world, const Settings& settings, int ranks_of_host) {
  if (settings.memory > 0) return static_cast<double>(settings.memory);
  int sharing = ranks_of_host;
  if (settings.sharding.gpu != nullptr) {
    const auto gpus = gpu::Gpu::count();
    WEIR_TRY(gpus.status());
    sharing = (ranks_of_host + *gpus - 1) / *gpus;
  }
  WEIR_TRY(largest(world.comm(), 0).status());  // a barrier: all ranks have allocated their memory
  const auto available = available_bytes(settings.sharding.gpu);
  WEIR_TRY(available.status());
  const auto least = largest(world.comm(), -*available / sharing);
  WEIR_TRY(least.status());
  return -*least * kPartOfMemory;
}

/// Numbers of ranks and hosts.
Status find_shape(const World& world, shard::Place& place) {
  auto places = shard::make_places(world.comm(), shard::Strategy::hybrid_shard, 0);
  place = {0, 1, world.rank(), world.ranks()};  // also if hosts have unequal numbers of ranks
  if (places.ok()) place = (*places)[static_cast<size_t>(world.rank())];
  return places.ok() || places.status().code() == Code::invalid_argument ? Status() : places.status();
}

Status measure_links(const World& world, const shard::Place& place, size_t floats, gpu::GpuOps* gpu,
                     Survey& found) {
  if (place.replicas > 1) {
    const auto between = link_of(world.comm(), world.ranks(), floats, gpu);
    WEIR_TRY(between.status());
    found.between = *between;
  }
  if (place.shards > 1) {
    auto host = shard::Communicator::split(world.comm(), place.replica, place.shard, "survey");
    WEIR_TRY(host.status());
    const auto own = link_of(host->handle(), place.shards, floats, gpu);
    WEIR_TRY(own.status());
    // The slowest host determines the result.
    const auto pace = largest(world.comm(), 1 / own->rate);
    WEIR_TRY(pace.status());
    const auto latency = largest(world.comm(), own->latency);
    WEIR_TRY(latency.status());
    found.inside = {std::max(1 / *pace, found.between.rate), *latency};
  }
  return {};
}

}  // namespace

plan::Model plan_model(const Model& model) {
  const Config& config = model.config();
  plan::Model seen;
  seen.name = "preset " + config.name;
  seen.width = static_cast<double>(config.width);
  seen.heads = static_cast<double>(config.heads);
  seen.sequence = static_cast<double>(config.length);
  seen.vocabulary = static_cast<double>(config.vocabulary);
  seen.flash = true;
  for (size_t at = 0; at < model.units().size(); ++at) {
    const ParameterTable& table = model.units()[at]->parameters();
    plan::Unit unit;
    unit.name = at == 0 ? "embedding" : at + 1 == model.units().size() ? "head" : "block";
    unit.parameters = static_cast<double>(table.size());
    if (at > 0)
      for (const Tensor& tensor : table.tensors())
        if (tensor.rows > 1) unit.products += static_cast<double>(tensor.size());
    if (unit.name == "block") unit.attentions = 1;
    unit.whole = unit.name != "block";
    if (unit.name == "embedding")
      unit.moved = plan::lookup_elements(seen.width, config.form == Form::gpt2 ? 2 : 1);
    if (unit.name == "head") unit.moved = plan::loss_elements(seen.vocabulary);
    if (unit.name == "head" && config.tied) unit.products = static_cast<double>(model.table_floats());
    seen.units.push_back(std::move(unit));
  }
  return seen;
}

Result<Survey> survey(const World& world, const Settings& settings, const Model& model, Ops& ops) {
  shard::Place place;
  WEIR_TRY(find_shape(world, place));
  Survey found;
  found.width = static_cast<double>(settings.config.width);
  plan::Cluster& cluster = found.cluster;
  cluster.title = "the ranks that are here";
  cluster.nodes = place.replicas;
  cluster.gpus = place.shards;
  const auto bytes = [](shard::Precision of) {
    return static_cast<double>(shard::wire_bytes(of, 1024)) / 1024;
  };
  cluster.precision = {bytes(settings.sharding.gather), bytes(settings.sharding.reduce), 4};
  const auto memory = memory_per_rank(world, settings, place.shards);
  WEIR_TRY(memory.status());
  cluster.memory = *memory;

  auto block = BlockRun::make(settings, model, world.ranks());
  WEIR_TRY(block.status());
  WEIR_TRY(measure_computing(world.comm(), settings, model, place.shard == 0, *block, ops, cluster));
  if (world.ranks() > 1) {
    WEIR_TRY(measure_links(world, place, block->parameters(), settings.sharding.gpu, found));
    const auto contention = measure_contention(
        world.comm(), world.ranks(), block->parameters(), [&] { block->compute(ops, block->sequences()); },
        settings.sharding.gpu);
    WEIR_TRY(contention.status());
    WEIR_TRY(ops.status());
    cluster.contention = *contention;
  }
  auto links = measured_topology(place.replicas, place.shards, found.inside, found.between);
  WEIR_TRY(links.status());
  cluster.links = std::move(*links);
  return found;
}

}  // namespace weir::trainer
