// SPDX-License-Identifier: Apache-2.0
/// One rank of a canonical training run of the toy model, from the newest checkpoint on:
///
///     toy_program STRATEGY SHARD_RANKS STEPS [FOLDER [RANK CALL]]
///
/// saves after each step to FOLDER, while the next one goes on; rank RANK dies at call CALL of the file
/// layer. Rank 0 prints "bits HASH of step N, skipped K".
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "tests/trainer/dying_files.h"
#include "tests/trainer/toy.h"
#include "trainer/checkpoint/engine_state.h"
#include "weir/launched.h"

namespace weir::shard {
namespace {

struct Arguments {
  toy::Run run;
  std::string folder;
  int dying_rank = -1;
  int fatal_call = 0;
};

Status train(ncclComm_t world, int rank, const Arguments& arguments) {
  Result<std::unique_ptr<ShardEngine>> made = ShardEngine::create(world, toy::units(), arguments.run.options);
  if (!made.ok()) return made.status();
  ShardEngine& engine = **made;
  toy::initialise(engine);
  uint64_t step = 0, skipped = 0;
  if (!arguments.folder.empty()) {
    Result<std::optional<checkpoint::Loaded>> loaded =
        checkpoint::load_latest(world, arguments.folder, engine, {});
    if (!loaded.ok()) return loaded.status();
    if (*loaded) step = (**loaded).contents.step;
    if (*loaded) skipped = (**loaded).skipped.size();
  }
  checkpoint::DyingFiles files(checkpoint::DyingFiles::Way::kills,
                               rank == arguments.dying_rank ? arguments.fatal_call : 0);
  checkpoint::Saver saver(world, arguments.folder, 1, files);
  while (step < static_cast<uint64_t>(arguments.run.steps)) {
    Result<StepSums> sums = toy::step(engine, arguments.run);
    if (!sums.ok()) return sums.status();
    ++step;
    if (arguments.folder.empty()) continue;
    if (saver.under_way()) WEIR_TRY(saver.finish());
    WEIR_TRY(checkpoint::start_saving(saver, engine, {}, step, {step}));
  }
  if (saver.under_way()) WEIR_TRY(saver.finish());
  Result<std::vector<float>> all = toy::whole(engine);
  if (!all.ok()) return all.status();
  uint64_t hash = 0xcbf29ce484222325;
  for (float value : *all) hash = (hash ^ std::bit_cast<uint32_t>(value)) * 0x100000001b3;
  if (rank == 0)
    printf("bits %016llx of step %llu, skipped %llu\n", static_cast<unsigned long long>(hash),
           static_cast<unsigned long long>(step), static_cast<unsigned long long>(skipped));
  return Status();
}

std::optional<Strategy> strategy_named(std::string_view name) {
  for (const Strategy strategy :
       {Strategy::no_shard, Strategy::shard_grad_op, Strategy::full_shard, Strategy::hybrid_shard})
    if (name == name_of(strategy)) return strategy;
  return std::nullopt;
}

int run(int argc, char** argv) {
  Arguments arguments;
  const std::optional<Strategy> strategy = strategy_named(argv[1]);
  if (!strategy) return 2;
  arguments.run.options.strategy = *strategy;
  arguments.run.options.shard_ranks = std::atoi(argv[2]);
  arguments.run.options.canonical = true;
  arguments.run.steps = std::atoi(argv[3]);
  arguments.run.per_micro = 3;
  if (argc > 4) arguments.folder = argv[4];
  if (argc > 6) arguments.dying_rank = std::atoi(argv[5]);
  if (argc > 6) arguments.fatal_call = std::atoi(argv[6]);

  const Launched launched =
      find_launched([](const char* name) { return std::getenv(name); }).value_or(Launched{});
  ncclUniqueId id;
  ncclComm_t world = nullptr;
  Status status = checked(ncclGetUniqueId(&id), "id");
  if (status.ok()) status = checked(ncclCommInitRank(&world, launched.size, id, launched.rank), "world");
  if (status.ok()) status = train(world, launched.rank, arguments);
  if (!status.ok()) {
    fprintf(stderr, "%s\n", status.message().c_str());
    (void)ncclCommAbort(world);
    return 1;
  }
  return ncclCommDestroy(world) == ncclSuccess ? 0 : 1;
}

}  // namespace
}  // namespace weir::shard

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  return weir::shard::run(argc, argv);
}
