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
#include "trainer/math/products.h"
#include "trainer/model/model.h"
#include "trainer/plan/command.h"
#include "trainer/run/automatic.h"
#include "trainer/run/sharded.h"
#include "trainer/run/train.h"
#include "trainer/run/world.h"
#include "trainer/shard/groups.h"
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
  int blocks = 0;
  int threads = 1;
  int ranks = 0;  ///< 0: as the launcher says
  bool automatic = false;
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

std::string memory_words(const Settings& settings, const Sharded& engine) {
  std::string words = "a rank's arrays take " + engine.memory().describe();
  if (settings.memory > 0)
    words += fmt::format("; of the budget of {:.1f}, in micro-batches of {}",
                         static_cast<double>(settings.memory) / (1 << 20),
                         shape_of_batch(settings, engine.shards().ranks()).sequences);
  return words;
}

void print_beginning(const Arguments& arguments, const Model& model, const Text& text,
                     const Products& products, const Sharded& engine) {
  const Settings& settings = arguments.settings;
  const Config& config = settings.config;
  fmt::print("preset {}: {} blocks of width {}, {} heads, sequences of {} bytes, {:.2f} M parameters\n",
             config.name, config.layers, config.width, config.heads, config.length,
             static_cast<double>(model.parameter_floats()) / 1e6);
  if (engine.shards().ranks() > 1)
    fmt::print("{} ranks, {}: {} of {} in shards, {} replica{}\n", engine.shards().ranks(),
               shard::name_of(settings.sharding.strategy), engine.shards().places()[0].shards,
               engine.shards().ranks(), engine.shards().places()[0].replicas,
               engine.shards().places()[0].replicas == 1 ? "" : "s");
  fmt::print("text {}: {} bytes, the last {} held out\n", text.name(), text.bytes().size(),
             text.held_out().size());
  fmt::print("oneDNN {}, {}{}, {} thread{}: at most {:.3f} TFLOP/s measured\n", products_version(),
             settings.precision == Precision::bf16 ? "bf16" : "fp32",
             products.native() ? "" : " rounded, computed in fp32", arguments.threads,
             arguments.threads == 1 ? "" : "s", arguments.report.peak / 1e12);
  fmt::print("{}\n", memory_words(settings, engine));
}

/// For the page: what was run, and losses to compare with.
Status tell_page(JournalSettings& journal, const Arguments& arguments, const Model& model, const Text& text,
                 const Sharded& engine) {
  if (journal.page.empty()) return {};
  const Settings& settings = arguments.settings;
  const Config& config = settings.config;
  const shard::Place& place = engine.shards().places()[0];
  journal.facts = {
      {"model",
       fmt::format("preset {}: {} blocks of width {}, {} heads, sequences of {} bytes, {:.2f} M parameters",
                   config.name, config.layers, config.width, config.heads, config.length,
                   static_cast<double>(model.parameter_floats()) / 1e6)},
      {"text", fmt::format("{}, {} bytes, the last {} held out", text.name(), text.bytes().size(),
                           text.held_out().size())},
      {"ranks", fmt::format("{}, {}: shards {}, replicas {}", engine.shards().ranks(),
                            shard::name_of(settings.sharding.strategy), place.shards, place.replicas)},
      {"batch", fmt::format("{} sequences, learning rate {:g}, seed {}", settings.batch,
                            settings.learning_rate, settings.seed)},
      {"products",
       fmt::format("oneDNN {}, {}, at most {:.3f} TFLOP/s per rank measured", products_version(),
                   settings.precision == Precision::bf16 ? "bf16" : "fp32", arguments.report.peak / 1e12)},
      {"memory", memory_words(settings, engine)},
      {"determinism", arguments.determinism}};
  journal.levels = {{"order-1 entropy of the text", order_one_entropy(text.bytes())}};
  const Result<double> xz = xz_bits(text.held_out());
  if (!xz.ok()) return xz.status();
  journal.levels.push_back({"xz of the held-out tenth", *xz});
  return {};
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
  Products products(settings.precision);
  arguments.report.peak = measured_peak(products);
  auto world = World::join();
  WEIR_TRY(world.status());
  if (arguments.automatic) {
    const auto plan = plan_run(*world, settings, arguments.given, products);
    WEIR_TRY(plan.status());
    arguments.report.predicted = plan->step_seconds();
    if (world->rank() == 0) fmt::print("{}\n", plan->describe());
  }
  const Model model(settings.config, settings.recompute);
  if (settings.memory > 0) {
    const auto places =
        shard::make_places(world->comm(), settings.sharding.strategy, settings.sharding.shard_ranks);
    WEIR_TRY(places.status());
    WEIR_TRY(fit(settings, model, places->front(), world->ranks()));
  }
  auto engine = Sharded::create(*world, settings, model, *text, products);
  WEIR_TRY(engine.status());
  arguments.report.ranks = world->ranks();
  arguments.report.prints = world->rank() == 0;
  if (arguments.report.prints) {
    print_beginning(arguments, model, *text, products, **engine);
    WEIR_TRY(tell_page(arguments.report.journal, arguments, model, *text, **engine));
  }
  return train(**engine, settings, arguments.report);
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
  const Status status =
      arguments.ranks > 0 && !launched ? launch(arguments.ranks, argv) : run_in_memory(arguments);
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
