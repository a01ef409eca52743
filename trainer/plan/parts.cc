// SPDX-License-Identifier: Apache-2.0

#include "trainer/plan/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "trainer/plan/unit_cost.h"

namespace weir::trainer::plan {
namespace {

Status check_parts(const Model& model, const Cluster& cluster, const Job& job) {
  const auto refuse = [](std::string sentence) {
    return Status(Code::invalid_argument, std::move(sentence));
  };
  const auto [tensor, stages, interleave] = job.parts;
  if (tensor < 1 || stages < 1 || interleave < 1 || cluster.ranks() % (tensor * stages) != 0 ||
      cluster.gpus % tensor != 0)
    return refuse(
        fmt::format("{} stages of {} GPUs do not divide {} nodes of {} GPUs; expected a divisor of "
                    "the number of GPUs",
                    stages, tensor, cluster.nodes, cluster.gpus));
  if (static_cast<size_t>(stages) > model.units.size())
    return refuse(fmt::format("{} stages of {}, which has {} units; expected at most as many", stages,
                              model.name, model.units.size()));
  if (has_groups(job.strategy))
    return refuse(
        fmt::format("{} with stages or tensor parallelism; expected another strategy", name(job.strategy)));
  return {};
}

/// Whether consecutive units can be divided into `stages` of at most this cost each.
bool divides(const std::vector<double>& costs, int stages, double most) {
  double sum = 0;
  for (const double cost : costs) {
    if (cost > most) return false;
    if (sum + cost > most) {
      sum = 0;
      if (--stages == 0) return false;
    }
    sum += cost;
  }
  return true;
}

/// Seconds of one micro-batch in each unit.
std::vector<double> unit_costs(const Model& model, const Cluster& cluster, const Job& job) {
  std::vector<double> seconds;
  for (const Unit& unit : model.units) seconds.push_back(unit_cost(model, cluster, job, unit).total());
  return seconds;
}

/// The fraction of all that the most expensive of `stages` stages has.
double largest_share(const std::vector<double>& costs, int stages) {
  const double all = std::accumulate(costs.begin(), costs.end(), 0.0);
  double low = all / stages;
  double high = all;
  for (int turn = 0; turn < 40 && high > low * (1 + 1e-9); ++turn) {
    const double middle = (low + high) / 2;
    (divides(costs, stages, middle * (1 + 1e-9)) ? high : low) = middle;
  }
  return high / all;
}

/// Seconds of computing of one micro-batch.
struct Computing {
  double all = 0;    ///< in all stages
  double share = 0;  ///< the fraction of it that the most expensive stage takes
};

Computing computing_of(const Model& model, const Cluster& cluster, const Job& job) {
  const std::vector<double> costs = unit_costs(model, cluster, job);
  const auto [tensor, stages, interleave] = job.parts;
  return {std::accumulate(costs.begin(), costs.end(), 0.0),
          interleave > 1 ? 1.0 / stages : largest_share(costs, stages)};
}

/// The factor by which a stage computes faster while others wait.
double faster_alone(const Cluster& cluster) { return cluster.nodes == 1 ? cluster.alone : 1; }

/// The time beyond computing of `parts` consecutive transfers of `transfer` seconds each, when one can start
/// every `compute` seconds and the last one after all computing.
double exposed(int parts, double transfer, double compute) {
  double end = 0;
  for (int part = 1; part <= parts; ++part) end = std::max(end, part * compute) + transfer;
  return end - parts * compute;
}

/// Seconds of one part's collectives among the ranks that have it.
struct PartTimes {
  double gather = 0;
  double reduce = 0;
};

Result<PartTimes> part_times(const Cluster& cluster, const Job& job, double parameters) {
  const RankGroups replicas{cluster.ranks() / job.parts.ranks(), job.parts.tensor};
  const bool whole = job.strategy == Strategy::no_shard;
  const auto reduce = cluster.seconds(whole ? Collective::all_reduce : Collective::reduce_scatter, replicas,
                                      cluster.precision.reduce * parameters);
  WEIR_TRY(reduce.status());
  if (whole) return PartTimes{0, *reduce};
  const auto gather =
      cluster.seconds(Collective::all_gather, replicas, cluster.precision.gather * parameters);
  WEIR_TRY(gather.status());
  return PartTimes{*gather, *reduce};
}

/// Seconds for which the slices of a stage add up activations of one micro-batch, forward and backward.
Result<double> slices_seconds(const Model& model, const Cluster& cluster, const Job& job) {
  const double bytes = job.micro_batch * model.sequence * model.width * cluster.precision.activation;
  const auto once = cluster.seconds(Collective::all_reduce, {job.parts.tensor, 1}, bytes);
  WEIR_TRY(once.status());
  double cores = 0;
  for (const Unit& unit : model.units) cores += unit.attentions > 0 ? unit.attentions + 1 : 0;
  return 2 * cores / job.parts.stages * *once;
}

/// Seconds of one micro-batch's activations from stage to stage, as pairs of ranks exchange them.
Result<double> boundary_seconds(const Model& model, const Cluster& cluster, const Job& job) {
  if (job.parts.stages == 1) return 0.0;
  const int stride = cluster.ranks() / job.parts.stages;
  const RankGroups pairs =
      job.parts.stages % 2 == 0 ? RankGroups{2, stride} : RankGroups{job.parts.stages, stride};
  const double bytes = job.micro_batch * model.sequence * model.width * cluster.precision.activation;
  const auto all = cluster.seconds(Collective::all_gather, pairs, bytes * pairs.ranks);
  WEIR_TRY(all.status());
  return *all / (pairs.ranks - 1) + cluster.contention.wake;  // the sender goes on computing
}

/// How many boundaries the first stage waits for. A micro-batch crosses all of them forward and backward
/// before that stage computes it backward, and until then the stage computes `stages` micro-batches.
double crossings(const Job& job) {
  const int stages = job.parts.stages;
  const int turns = job.parts.interleave > 1 ? 1 : (job.micro_batches + stages - 1) / stages;
  return 2.0 * (stages - 1) * turns;
}

Memory memory_of(const Model& model, const Cluster& cluster, const Job& job, double share) {
  const int replicas = cluster.ranks() / job.parts.ranks();
  const Groups groups{job.strategy, replicas, job.strategy == Strategy::no_shard ? 1 : replicas};
  const double part = share / job.parts.tensor;  // of the model
  Memory memory;
  memory.states = state_bytes(model, cluster, groups) * part;
  double largest = 0;
  for (const Unit& unit : model.units) largest = std::max(largest, unit.parameters / job.parts.tensor);
  if (job.strategy != Strategy::no_shard) {
    const double own = model.parameters() * part;
    const double gathered = reshards(job.strategy) ? std::min(own, (job.prefetch + 1) * largest) : own;
    memory.in_flight = cluster.precision.gather * gathered + cluster.precision.reduce * largest;
  }
  const ActivationBytes bytes = activation_bytes(model, cluster, job.recompute, job.micro_batch);
  const int slots = std::min(job.parts.stages, job.micro_batches);
  memory.activations = (slots * share * bytes.kept + bytes.working) / job.parts.tensor;
  return memory;
}

}  // namespace

Result<Prediction> predict_parts(const Model& model, const Cluster& cluster, const Job& job) {
  WEIR_TRY(check_parts(model, cluster, job));
  const auto [tensor, stages, interleave] = job.parts;
  const int batches = job.micro_batches;
  const auto [computing, share] = computing_of(model, cluster, job);
  const auto times = part_times(cluster, job, model.parameters() * share / tensor / interleave);
  WEIR_TRY(times.status());
  const auto sums = slices_seconds(model, cluster, job);
  WEIR_TRY(sums.status());
  const auto boundary = boundary_seconds(model, cluster, job);
  WEIR_TRY(boundary.status());

  const double pace = computing * share + *sums;  // of one micro-batch in the most expensive stage
  const int visits = job.strategy == Strategy::no_shard ? 0 : reshards(job.strategy) ? 2 * batches : 1;
  const int reductions = job.strategy == Strategy::no_shard ? 1 : batches;
  const double links = interleave * (visits * times->gather + reductions * times->reduce);
  // Computing of one part for the micro-batches of one pass, a third of it forward.
  const double pass = pace * std::min(stages, batches) / interleave;
  const double ends =
      exposed(interleave, times->gather, pass / 3) + exposed(interleave, times->reduce, pass * 2 / 3);

  Prediction found;
  found.line.compute_seconds = batches * computing / stages;
  found.line.inside_seconds = batches * *sums;
  found.line.between_seconds = links;
  const double hidden = std::max(links - ends, 0.0);  // beside computing
  // Stages wait for each other, or share the cores without ever leaving one idle.
  const double faster = faster_alone(cluster);
  const double path = seconds_together(cluster.contention, {batches * pace / faster, hidden}) +
                      pace / faster * (stages - 1) / interleave + crossings(job) * *boundary;
  const double work = seconds_together(cluster.contention, {batches * (computing / stages + *sums), hidden});
  found.line.seconds = std::max(path, work) + ends;
  found.memory = memory_of(model, cluster, job, share);
  const double replicas = job.strategy == Strategy::no_shard ? 1 : cluster.ranks() / job.parts.ranks();
  found.updated = model.parameters() * share / tensor / replicas;
  return found;
}

double most_tokens_per_second(const Model& model, const Cluster& cluster, const Job& job) {
  const auto [computing, share] = computing_of(model, cluster, job);
  const double path = computing * share / faster_alone(cluster) *
                      (job.micro_batches + (job.parts.stages - 1.0) / job.parts.interleave);
  const double seconds = std::max(path, computing / job.parts.stages * job.micro_batches);
  return job.micro_batch * model.sequence * job.micro_batches / job.parts.ranks() / seconds;
}

}  // namespace weir::trainer::plan
