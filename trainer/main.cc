// SPDX-License-Identifier: Apache-2.0
// weir-train: trains a small language model.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "trainer/data/baselines.h"
#include "trainer/data/text.h"
#include "trainer/math/ops.h"
#include "trainer/model/model.h"
#include "trainer/plan/command.h"
#include "trainer/run/automatic.h"
#include "trainer/run/device.h"
#include "trainer/run/sharded.h"
#include "trainer/run/train.h"
#include "trainer/run/world.h"
#include "weir/launched.h"

namespace weir::trainer {
namespace {

constexpr int kExitUsage = 2;

struct Arguments {
  Settings settings;
  ReportSettings report;
  std::string preset = "small";
  std::string data;
  std::string determinism = "run";
  DeviceChoice device = DeviceChoice::cpu;
  int blocks = 0;
  int threads = 1;
  int ranks = 0;  ///< 0: as the launcher says
  bool automatic = false;
  bool regroup = false;
  Given given;
};

void add_model(CLI::App& app, Arguments& arguments) {
  Settings& settings = arguments.settings;
  const std::map<std::string, Precision> precisions{{"fp32", Precision::fp32}, {"bf16", Precision::bf16}};
  const std::map<std::string, Recompute> recomputes{
      {"none", Recompute::none}, {"selective", Recompute::selective}, {"full", Recompute::full}};
  app.add_option("--preset", arguments.preset, "Size of the model")
      ->check(CLI::IsMember(preset_names()))
      ->capture_default_str();
  app.add_option("--blocks", arguments.blocks, "Blocks of the model; 0: the preset's")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  app.add_option("--data", arguments.data, "Text to learn, any file (default: the King James Bible)");
  app.add_option("--precision", settings.precision, "What products read: fp32 (default) or bf16")
      ->transform(CLI::CheckedTransformer(precisions));
  app.add_option("--recompute", settings.recompute,
                 "What backward computes again, to save memory: none (default), selective or full")
      ->transform(CLI::CheckedTransformer(recomputes));
  app.add_option("--deterministic", arguments.determinism,
                 "run: the same bits for the same command; canonical: for any number of ranks, strategy, "
                 "transport and micro-batch, too")
      ->check(CLI::IsMember({"run", "canonical"}))
      ->capture_default_str();
  const std::map<std::string, DeviceChoice> devices{
      {"auto", DeviceChoice::automatic}, {"cpu", DeviceChoice::cpu}, {"gpu", DeviceChoice::gpu}};
  app.add_option(
         "--device", arguments.device,
         "cpu (default), gpu (NVIDIA's, by cuBLAS; ranks take the GPUs of a host in turn), or auto: a GPU "
         "where one is found that can do what is asked")
      ->transform(CLI::CheckedTransformer(devices));
  app.add_option("--threads", arguments.threads, "Threads of matrix products")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

void add_training(CLI::App& app, Arguments& arguments) {
  Settings& settings = arguments.settings;
  app.add_option("--steps", settings.steps, "Steps of training")->capture_default_str();
  app.add_option("--stop-after", settings.stop_after, "Steps after which to end early; 0: none")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--batch", settings.batch, "Sequences per step")->capture_default_str();
  app.add_option("--micro-batch", settings.micro_batch, "Sequences computed together; 0: all of the batch")
      ->capture_default_str();
  app.add_option("--seed", settings.seed, "Of parameters, samples and generated text")->capture_default_str();
  app.add_option("--learning-rate", settings.learning_rate, "The highest")->capture_default_str();
  app.add_option("--warm-up", settings.warm_up, "Steps until it is reached; then it falls along a cosine")
      ->capture_default_str();
  app.add_option("--weight-decay", settings.weight_decay, "AdamW's, of matrices")->capture_default_str();
  app.add_option("--clip", settings.clip, "Largest norm of the gradient; 0: any")->capture_default_str();
}

void add_sharding(CLI::App& app, Arguments& arguments) {
  shard::EngineOptions& sharding = arguments.settings.sharding;
  const std::map<std::string, shard::Strategy> strategies{{"none", shard::Strategy::no_shard},
                                                          {"gradients", shard::Strategy::shard_grad_op},
                                                          {"full", shard::Strategy::full_shard},
                                                          {"hybrid", shard::Strategy::hybrid_shard}};
  const std::map<std::string, shard::Limit> limits{
      {"off", shard::Limit::off}, {"block", shard::Limit::block}, {"sliding", shard::Limit::sliding}};
  const std::map<std::string, shard::Precision> precisions{{"fp32", shard::Precision::float32},
                                                           {"bf16", shard::Precision::bfloat16}};
  app.add_option("--ranks", arguments.ranks,
                 "Processes to start on this machine; without it, as the launcher says")
      ->check(CLI::Range(1, 4096));
  app.add_option(
         "--strategy", sharding.strategy,
         "none, gradients (kept whole from the first use on), full (default: gathered for every use) or "
         "hybrid (full inside a group, replicas across), FSDP's NO_SHARD, SHARD_GRAD_OP, FULL_SHARD, "
         "HYBRID_SHARD")
      ->transform(CLI::CheckedTransformer(strategies));
  app.add_option("--pipeline", arguments.settings.parts.stages,
                 "Stages that the model is cut into, one after the other; each has ranks of its own, and "
                 "--strategy is that of the ranks with the same part of the model")
      ->capture_default_str();
  app.add_option("--tensor", arguments.settings.parts.slices,
                 "Slices that each block is cut into, which ranks of one host compute together")
      ->capture_default_str();
  app.add_option("--shard-ranks", sharding.shard_ranks, "Ranks of a group of hybrid; 0: those of a host")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--prefetch", sharding.forward_prefetch, "Units gathered ahead of the present one")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  app.add_option("--limiter", sharding.limiter.kind,
                 "Of gathers under way: off, block (and flush) or sliding (window, default)")
      ->transform(CLI::CheckedTransformer(limits));
  app.add_option("--gathers", sharding.limiter.gathers, "The limiter's gathers; 0: any number")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--gather-bytes", sharding.limiter.bytes, "The limiter's bytes; 0: any number")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_option(
         "--memory", arguments.settings.memory,
         "Bytes that a rank's arrays may take: sets the micro-batch and --gather-bytes where these are not "
         "given; 0: any number")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_flag(
      "--auto", arguments.automatic,
      "Measures the ranks that are here and chooses strategy, shard ranks, micro-batch, recomputation, "
      "prefetch and limiter, as far as they are not given, for the shortest step that fits --memory");
  app.add_option("--gather", sharding.gather, "What parameters travel as: fp32 (default) or bf16")
      ->transform(CLI::CheckedTransformer(precisions));
  app.add_option("--reduce", sharding.reduce,
                 "What gradients travel and are added as between ranks: fp32 (default) or bf16")
      ->transform(CLI::CheckedTransformer(precisions));
}

void add_report(CLI::App& app, Arguments& arguments) {
  ReportSettings& report = arguments.report;
  app.add_option("--evaluation-sequences", arguments.settings.evaluation_sequences,
                 "Sequences of the held-out tenth to evaluate; 0: all")
      ->capture_default_str();
  app.add_option("--evaluate-every", report.evaluate_every, "Steps between evaluations; 0: at the end only")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--report-every", report.every, "Steps between lines")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  Settings& settings = arguments.settings;
  app.add_option(
      "--checkpoints", settings.checkpoints,
      "Folder that all ranks see; goes on from the newest one there, whatever ranks and strategy wrote it");
  app.add_option("--checkpoint-every", settings.checkpoint_every, "Steps; 0: after the last one only")
      ->capture_default_str();
  app.add_flag(
      "--regroup", arguments.regroup,
      "When ranks die, stop or cannot be reached, the others go on from the newest checkpoint (from the "
      "beginning without --checkpoints)");
  app.add_option("--keep", settings.checkpoints_kept, "Checkpoints kept, the newest ones")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--metrics", report.metrics, "File for one JSON object per step");
  app.add_option("--trace", report.journal.trace,
                 "File for what every rank did when in the last steps, for ui.perfetto.dev");
  app.add_option("--trace-steps", report.journal.trace_steps, "Steps in it")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--page", report.journal.page, "HTML file with plots of the run");
  app.add_option("--prompt", report.prompt, "What the text at the end begins with")->capture_default_str();
  app.add_option("--sample", report.sample_bytes, "Bytes of that text")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  app.add_option("--temperature", report.temperature, "Of that text")
      ->check(CLI::Range(0.01, 100.0))
      ->capture_default_str();
}

std::string memory_words(const Sharded& engine) {
  const Settings& settings = engine.settings();
  std::string words = "a rank's arrays take " + engine.memory().describe();
  if (settings.memory > 0)
    words += fmt::format("; of the budget of {:.1f}, in micro-batches of {}",
                         static_cast<double>(settings.memory) / (1 << 20),
                         shape_of_batch(settings, engine.shards().ranks()).sequences);
  return words;
}

std::string model_words(const Model& model) {
  const Config& config = model.config();
  return fmt::format("preset {}: {} blocks of width {}, {} heads, sequences of {} bytes, {:.2f} M parameters",
                     config.name, config.layers, config.width, config.heads, config.length,
                     static_cast<double>(model.parameter_floats()) / 1e6);
}

std::string plural(int count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// How parameters and work are divided between the ranks.
std::string ranks_words(const Sharded& engine) {
  const parallel::Team& team = engine.team();
  const parallel::Shape& shape = team.shape();
  const int ranks = engine.shards().ranks();
  const shard::Place& place = engine.shards().places()[0];
  std::string words = fmt::format("{} ranks, {}: {} of {} in shards, {}", ranks * shape.parts(),
                                  shard::name_of(engine.settings().sharding.strategy), place.shards, ranks,
                                  plural(place.replicas, "replica"));
  if (shape.parts() == 1) return words;
  words += fmt::format(";\neach {} have the model between them:", plural(shape.parts(), "rank"));
  if (shape.stages > 1)
    words += fmt::format(" {} stages, 1F1B, in micro-batches of {}; the first has {} of {} units",
                         shape.stages, shape_of_batch(engine.settings(), ranks).sequences,
                         engine.units().count(), engine.model().units().size());
  if (shape.slices > 1)
    words += fmt::format("{} {} slices of each block", shape.stages > 1 ? ";" : "", shape.slices);
  if (team.across_leaves() > 0)
    words += fmt::format("; {} across leaves", plural(team.across_leaves(), "pipeline"));
  return words;
}

void print_beginning(const Arguments& arguments, int ranks, const Text& text, const Ops& ops,
                     const Sharded& engine) {
  fmt::print("{}\n", model_words(engine.model()));
  if (ranks > 1) fmt::print("{}\n", ranks_words(engine));
  fmt::print("text {}: {} bytes, the last {} held out\n", text.name(), text.bytes().size(),
             text.held_out().size());
  fmt::print("{}, {}: at most {:.3f} TFLOP/s measured\n", ops.description(),
             plural(arguments.threads, "thread"), arguments.report.peak / 1e12);
  fmt::print("{}\n", memory_words(engine));
}

/// For the page: what was run, and losses to compare with.
Status tell_page(JournalSettings& journal, const Arguments& arguments, const Text& text, const Ops& ops,
                 const Sharded& engine) {
  if (journal.page.empty()) return {};
  const Settings& settings = engine.settings();
  journal.facts = {{"model", model_words(engine.model())},
                   {"text", fmt::format("{}, {} bytes, the last {} held out", text.name(),
                                        text.bytes().size(), text.held_out().size())},
                   {"ranks", ranks_words(engine)},
                   {"batch", fmt::format("{} sequences, learning rate {:g}, seed {}", settings.batch,
                                         settings.learning_rate, settings.seed)},
                   {"products", fmt::format("{}, at most {:.3f} TFLOP/s per rank measured", ops.description(),
                                            arguments.report.peak / 1e12)},
                   {"memory", memory_words(engine)},
                   {"determinism", arguments.determinism}};
  journal.levels = {{"order-1 entropy of the text", order_one_entropy(text.bytes())}};
  const Result<double> xz = xz_bits(text.held_out());
  if (!xz.ok()) return xz.status();
  journal.levels.push_back({"xz of the held-out tenth", *xz});
  return {};
}

/// Gives up what fewer ranks cannot do any more; whether there was something.
bool simplify(Settings& settings) {
  if (settings.parts.parts() > 1) {
    settings.parts = {};
    return true;
  }
  const bool hybrid = settings.sharding.strategy == shard::Strategy::hybrid_shard;
  if (hybrid) settings.sharding.strategy = shard::Strategy::full_shard;
  return hybrid;
}

/// Where `regrouped`, parts of the model and groups of ranks that fewer ranks do not make are given up.
Result<std::unique_ptr<Sharded>> make_engine(const World& world, bool regrouped, Settings settings,
                                             const Text& text, Ops& ops) {
  for (;;) {
    auto engine = Sharded::create(world, settings, text, ops);
    if (engine.ok() || !regrouped || engine.status().code() != Code::invalid_argument || !simplify(settings))
      return engine;
    if (world.rank() == 0)
      fmt::print("{} of whole models now: {}\n", shard::name_of(settings.sharding.strategy),
                 engine.status().message());
  }
}

/// With the ranks that are there, from the newest checkpoint on.
Status train_together(const World& world, const Arguments& arguments, const Text& text, Ops& ops) {
  auto engine = make_engine(world, arguments.report.goes_on, arguments.settings, text, ops);
  WEIR_TRY(engine.status());
  ReportSettings report = arguments.report;
  report.ranks = world.ranks();
  report.prints = world.rank() == 0;
  if (report.prints) {
    print_beginning(arguments, report.ranks, text, ops, **engine);
    WEIR_TRY(tell_page(report.journal, arguments, text, ops, **engine));
  }
  const Status status = train(**engine, (*engine)->settings(), report);
  if (!status.ok()) (*engine)->abort();
  return status;
}

/// Before ranks meet: communicators are on the GPU that is current.
Result<Device> choose_device(const Arguments& arguments) {
  const Launched launched =
      find_launched([](const char* name) { return std::getenv(name); }).value_or(Launched());
  return open_device(arguments.device, launched.local_rank.value_or(launched.rank),
                     arguments.settings.precision);
}

Status run(Arguments& arguments) {
  Settings& settings = arguments.settings;
  Result<Config> config = preset(arguments.preset);
  if (!config.ok()) return config.status();
  settings.config = *config;
  if (arguments.blocks > 0) settings.config.layers = arguments.blocks;
  settings.canonical = arguments.determinism == "canonical";
  settings.sharding.backward_prefetch = settings.sharding.forward_prefetch;
  WEIR_TRY(check(settings));
  Result<Text> text = arguments.data.empty() ? Text::built_in() : Text::from_file(arguments.data);
  if (!text.ok()) return text.status();
  WEIR_TRY(text->check_length(settings.config.length));

  use_threads(arguments.threads);
  auto device = choose_device(arguments);
  WEIR_TRY(device.status());
  Ops& ops = device->ops();
  settings.sharding.gpu = device->gpu_ops.get();
  arguments.report.peak = device->peak;
  auto world = World::join();
  WEIR_TRY(world.status());
  if (arguments.automatic && settings.parts.parts() > 1)
    return Status(
        Code::invalid_argument,
        "--auto with --pipeline or --tensor: it chooses among ways that leave models whole; expected "
        "one of both");
  if (arguments.automatic) {
    const auto plan = plan_run(*world, settings, arguments.given, ops);
    WEIR_TRY(plan.status());
    arguments.report.predicted = plan->step_seconds();
    if (world->rank() == 0) fmt::print("{}\n", plan->describe());
  }
  for (;;) {
    const Status status = train_together(*world, arguments, *text, ops);
    if (status.ok() || !arguments.regroup || status.code() == Code::invalid_argument) return status;
    const auto gone = world->regroup(status);
    WEIR_TRY(gone.status());
    if (world->rank() == 0) fmt::print("{}, after: {}\n", *gone, status.message());
    arguments.report.goes_on = true;
  }
}

// Arrays that do not fit are told like any other error.
Status run_in_memory(Arguments& arguments) {
  try {
    return run(arguments);
  } catch (const std::bad_alloc&) {
    return Status(
        Code::system_error,
        fmt::format(
            "the arrays of preset {} with {} sequences at once do not fit into memory; a lower "
            "--micro-batch or --recompute full needs less",
            arguments.preset,
            arguments.settings.micro_batch > 0 ? arguments.settings.micro_batch : arguments.settings.batch));
  }
}

// What the program ends with where the options make no sense, or help was asked for; else nothing.
std::optional<int> parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
}

// Options of its own: a cluster's batch, say, is not the run's.
int plan_only(int argc, char** argv) {
  CLI::App app("weir-train --plan-only: how to train a model on a cluster, and how fast that will be",
               "weir-train");
  plan::PlanOptions options;
  plan::add_plan_options(app, options);
  app.get_option("--cluster")->required();
  const std::optional<int> end = parse(app, argc, argv);
  return end ? *end : plan::plan_only(options);
}

int train_model(int argc, char** argv) {
  CLI::App app("weir-train: trains a decoder-only transformer on bytes of text", "weir-train");
  app.footer("weir-train --plan-only --help: plans for clusters that are not at hand");
  Arguments arguments;
  add_model(app, arguments);
  add_training(app, arguments);
  add_sharding(app, arguments);
  add_report(app, arguments);
  if (const std::optional<int> end = parse(app, argc, argv)) return *end;
  const auto given = [&](const char* option) { return app.count(option) > 0; };
  arguments.given = {given("--strategy"),  given("--shard-ranks"), given("--micro-batch"),
                     given("--recompute"), given("--prefetch"),    given("--limiter") || given("--gathers")};
  const bool launched = find_launched([](const char* name) { return std::getenv(name); }).has_value();
  const Status status = arguments.ranks > 0 && !launched ? launch(arguments.ranks, arguments.regroup, argv)
                                                         : run_in_memory(arguments);
  if (status.ok()) return 0;
  fmt::print(stderr, "weir-train: {}\n", status.message());
  return status.code() == Code::invalid_argument ? kExitUsage : 1;
}

}  // namespace
}  // namespace weir::trainer

int main(int argc, char** argv) {
  const bool plans = std::find(argv + 1, argv + argc, std::string_view("--plan-only")) != argv + argc;
  return plans ? weir::trainer::plan_only(argc, argv) : weir::trainer::train_model(argc, argv);
}
