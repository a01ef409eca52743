// SPDX-License-Identifier: Apache-2.0
// weir-train: trains a small language model.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/data/baselines.h"
#include "trainer/data/text.h"
#include "trainer/exchange/imported_model.h"
#include "trainer/math/ops.h"
#include "trainer/math/products.h"
#include "trainer/model/model.h"
#include "trainer/plan/command.h"
#include "trainer/run/automatic.h"
#include "trainer/run/checkpoint_words.h"
#include "trainer/run/command_line.h"
#include "trainer/run/common_options.h"
#include "trainer/run/data_source.h"
#include "trainer/run/device.h"
#include "trainer/run/elastic.h"
#include "trainer/run/kept_tokenizer.h"
#include "trainer/run/launch.h"
#include "trainer/run/model_source.h"
#include "trainer/run/remaining_engine.h"
#include "trainer/run/restart_words.h"
#include "trainer/run/run_words.h"
#include "trainer/run/sharded.h"
#include "trainer/run/sharding_options.h"
#include "trainer/run/shared_errors.h"
#include "trainer/run/train.h"
#include "trainer/run/trial.h"
#include "trainer/run/world.h"
#include "trainer/run/write_model.h"
#include "weir/launched.h"

namespace weir::trainer {
namespace {

constexpr const char* kVersion = "weir-train of weir " WEIR_VERSION;
constexpr int kExitSignal = 128;  ///< plus the signal for which a run has stopped, as shells count

struct Arguments {
  Settings settings;
  ReportSettings report;
  ModelSource model;
  DataSource data;
  std::string exported;  ///< folder into which the model is written at the end; empty: none
  std::string determinism = "run";
  DeviceChoice device = DeviceChoice::cpu;
  int threads = 1;
  Launch launch;
  bool automatic = false;
  bool prompt_given = false;
  FixedSettings given;
  std::span<const char* const> command;  ///< the program and its arguments
  bool launched = false;                 ///< whether another program has started the ranks
};

void add_model(CLI::App& app, Arguments& arguments) {
  Settings& settings = arguments.settings;
  const std::map<std::string, Precision> precisions{{"fp32", Precision::fp32}, {"bf16", Precision::bf16}};
  const std::map<std::string, Recompute> recomputes{
      {"none", Recompute::none}, {"selective", Recompute::selective}, {"full", Recompute::full}};
  CLI::Option* const preset = app.add_option("--preset", arguments.model.preset, "Preset model size");
  preset->check(CLI::IsMember(preset_names()))->capture_default_str();
  CLI::Option* const blocks =
      app.add_option("--blocks", arguments.model.blocks, "Number of transformer blocks; 0: as in the preset");
  blocks->check(CLI::Range(0, 1000))->capture_default_str();
  CLI::Option* const imported =
      app.add_option("--import", arguments.model.imported,
                     "Folder of a model in Hugging Face's GPT-2 or Llama format, instead of a preset: "
                     "training begins with its parameters");
  imported->excludes(preset)->excludes(blocks);
  app.add_flag(
      "--tied,!--untied", arguments.model.tied,
      "The output layer's weights are the embedding's, as GPT-2's; --untied: it has weights of its own, "
      "which begin as a copy where a tied model is imported (default: as in the imported model, else "
      "--untied)");
  app.add_option("--export", arguments.exported,
                 "Folder into which the model is written at the end, in the same format");
  app.add_option("--sample-from", arguments.model.sample_from,
                 "Checkpoint, or folder of which the newest one counts: evaluate and sample from it, without "
                 "training")
      ->excludes(imported);
  app.add_option("--precision", settings.precision,
                 "Operand precision of matrix products: fp32 (default) or bf16")
      ->transform(CLI::CheckedTransformer(precisions));
  app.add_option("--recompute", settings.recompute,
                 "What the backward pass recomputes to save memory: none (default), selective or full")
      ->transform(CLI::CheckedTransformer(recomputes));
  app.add_option("--deterministic", arguments.determinism,
                 "run: the same command gives the same bits; canonical: any number of ranks, strategy, "
                 "transport and micro-batch give the same bits, too; off: neither, sums between ranks take "
                 "the fastest order")
      ->check(CLI::IsMember({"run", "canonical", "off"}))
      ->capture_default_str();
  const std::map<std::string, DeviceChoice> devices{
      {"auto", DeviceChoice::automatic}, {"cpu", DeviceChoice::cpu}, {"gpu", DeviceChoice::gpu}};
  app.add_option("--device", arguments.device,
                 "cpu (default), gpu (NVIDIA GPUs with cuBLAS, assigned round-robin to the ranks of a host), "
                 "or auto: a GPU if one is found that supports the other options, else the CPU")
      ->transform(CLI::CheckedTransformer(devices));
  app.add_option("--threads", arguments.threads, "Threads per rank for matrix products")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

void add_data(CLI::App& app, DataSource& data, Settings& settings) {
  const std::map<std::string, DataFormat> formats{
      {"auto", DataFormat::automatic}, {"text", DataFormat::text},     {"jsonl", DataFormat::json_lines},
      {"llm.c", DataFormat::llm_c},    {"uint16", DataFormat::uint16}, {"uint32", DataFormat::uint32}};
  app.add_option("--data", data.files, "Files to train on (default: the built-in King James Bible)");
  app.add_option(
         "--data-format", data.format,
         "text (its bytes are tokens), jsonl (lines with documents in the field \"text\"), llm.c (tokens "
         "with llm.c's header), uint16 and uint32 (tokens alone, as nanoGPT writes them), or auto "
         "(default): llm.c by the header, jsonl by the name, else text")
      ->transform(CLI::CheckedTransformer(formats));
  app.add_option(
      "--tokenizer", data.tokenizer,
      "tokenizer.json of GPT-2 or Llama, or a folder with it or with vocab.json and merges.txt: how "
      "text and jsonl become tokens (default: that of --import, or bytes)");
  app.add_option("--vocabulary", data.vocabulary, "Number of tokens of a new model; 0: as the data has them")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  app.add_flag("--separate-documents", data.separates_documents,
               "Attention sees only tokens of the same document, in --data of llm.c or jsonl");
  app.add_option("--evaluation-sequences", settings.evaluation_sequences,
                 "Number of sequences of the held-out tenth of the text to evaluate; 0: all")
      ->capture_default_str();
}

void add_training(CLI::App& app, Arguments& arguments) {
  Settings& settings = arguments.settings;
  app.add_option("--steps", settings.steps, "Number of training steps")->capture_default_str();
  app.add_option("--stop-after", settings.stop_after,
                 "Stop after this many steps, without changing the learning rates; 0: run all steps")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--batch", settings.batch, "Sequences per step, of all ranks together")
      ->capture_default_str();
  app.add_option("--micro-batch", settings.micro_batch,
                 "Sequences that a rank computes at once; 0: its whole share of the batch (with --pipeline: "
                 "four micro-batches per stage)")
      ->capture_default_str();
  app.add_option("--seed", settings.seed, "Seed of initial parameters, samples and generated text")
      ->capture_default_str();
  app.add_option("--learning-rate", settings.learning_rate, "Peak learning rate")->capture_default_str();
  app.add_option("--warm-up", settings.warm_up,
                 "Steps until the peak learning rate; afterwards it falls along a cosine")
      ->capture_default_str();
  const std::map<std::string, Optimizer> optimizers{{"adamw", Optimizer::adamw}, {"muon", Optimizer::muon}};
  app.add_option(
         "--optimizer", settings.optimizer,
         "adamw (default), or muon: orthogonalised momentum for the matrices of blocks, AdamW for the "
         "other parameters")
      ->transform(CLI::CheckedTransformer(optimizers));
  app.add_option("--weight-decay", settings.weight_decay, "Weight decay, applied to matrices only")
      ->capture_default_str();
  app.add_option("--clip", settings.clip, "Norm to which larger gradients are clipped; 0: no clipping")
      ->capture_default_str();
}

void add_ranks(CLI::App& app, Arguments& arguments) {
  app.add_option(
         "--ranks", arguments.launch.ranks,
         "Processes to start, on this machine or on --hosts; default: those that the launcher started")
      ->check(CLI::Range(1, 4096));
  app.add_option("--hosts", arguments.launch.hosts,
                 "Hosts to start them on by ssh, as for weir run: host0:4,host1:4");
  app.add_flag(
      "--auto", arguments.automatic,
      "Measure the ranks of this job and choose strategy, shard ranks, stages, slices, micro-batch, "
      "recomputation, prefetch and limiter, unless they are given, for the shortest step that fits into "
      "--memory; what is chosen is tried beside the usual settings");
}

void add_report(CLI::App& app, Arguments& arguments) {
  ReportSettings& report = arguments.report;
  app.add_option("--evaluate-every", report.evaluate_every, "Steps between evaluations; 0: at the end only")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--report-every", report.every, "Steps between lines of progress")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  Settings& settings = arguments.settings;
  app.add_option("--checkpoints", settings.checkpoints,
                 "Checkpoint folder, visible to all ranks; training resumes from the newest checkpoint in "
                 "it, whatever ranks and strategy wrote it")
      ->excludes(app.get_option("--sample-from"));
  app.add_option(
         "--allow-changes", settings.allowed_changes,
         "Options that may differ from those with which the checkpoint was written; others that change "
         "the results end the run, except --steps")
      ->delimiter(',')
      ->check(CLI::IsMember(changeable_options()))
      ->type_name("NAME,...");
  app.add_flag(
      "--checkpoints-local", settings.checkpoints_local,
      "The folder of --checkpoints is another one on each host, for the files of its own ranks; ranks that "
      "lack files get them from those that have them");
  app.add_option("--checkpoint-every", settings.checkpoint_every,
                 "Steps between checkpoints; 0: only after the last step")
      ->capture_default_str();
  app.add_flag("--regroup", arguments.launch.regroups,
               "If ranks die, stop or become unreachable, the others resume from the newest checkpoint (from "
               "the beginning without --checkpoints)");
  app.add_option("--spares", arguments.launch.spares,
                 "Processes started beside the ranks that wait to take the places of dead ones")
      ->check(CLI::Range(0, 4096))
      ->needs("--regroup");
  app.add_option("--join", arguments.launch.job,
                 "Join a running job that was started with the same options: the addresses that it prints, "
                 "host:port, separated by commas")
      ->needs("--regroup")
      ->excludes("--spares");
  app.add_option("--keep", settings.checkpoints_kept, "Number of newest checkpoints to keep")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--metrics", report.metrics, "Metrics file with one JSON object per step");
  app.add_option("--trace", report.journal.trace,
                 "Trace file with the timeline of every rank in the last steps, for ui.perfetto.dev");
  app.add_option("--trace-steps", report.journal.trace_steps, "Number of steps in the trace")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--page", report.journal.page, "HTML file with plots of the run");
  app.add_option("--prompt", report.prompt, "Beginning of the text that is generated at the end")
      ->capture_default_str();
  app.add_option("--sample", report.sample_tokens, "Length of the generated text in tokens")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  app.add_option("--temperature", report.temperature, "Sampling temperature of the generated text")
      ->check(CLI::Range(0.01, 100.0))
      ->capture_default_str();
}

/// The order that `--deterministic` needs. The environment may ask for that of the ranks, which promises
/// more.
int order_for(const std::string& determinism) {
  if (determinism == "off") return weirOrderAny;
  const char* const asked = std::getenv("WEIR_ORDER");
  return asked != nullptr && std::string_view(asked) == "ranks" ? weirOrderRanks : weirOrderRun;
}

/// `order`: of the sums between ranks.
std::string determinism_words(const Arguments& arguments, const std::string& order) {
  return fmt::format("{}, order of sums between ranks: {}{}", arguments.determinism, order,
                     arguments.automatic ? "; --auto may choose other settings in another run" : "");
}

void print_beginning(const Arguments& arguments, int ranks, const Text& text, const Ops& ops,
                     const Sharded& engine, const std::string& order) {
  fmt::print("{}\n", model_words(engine.model()));
  if (ranks > 1) fmt::print("{}\n", ranks_words(engine));
  fmt::print("text {}\n", text_words(text, ": "));
  fmt::print("{}, {}: at most {:.3f} TFLOP/s measured\n", ops.description(),
             plural(arguments.threads, "thread"), arguments.report.peak / 1e12);
  fmt::print("{}\n", memory_words(engine));
  if (ranks > 1) fmt::print("deterministic {}\n", determinism_words(arguments, order));
}

/// Fills in what the page shows of the run, and losses to compare with.
Status tell_page(JournalSettings& journal, const Arguments& arguments, const Text& text, const Ops& ops,
                 const Sharded& engine, const std::string& order) {
  if (journal.page.empty()) return {};
  const Settings& settings = engine.settings();
  journal.facts = {{"model", model_words(engine.model())},
                   {"text", text_words(text, ", ")},
                   {"ranks", ranks_words(engine)},
                   {"batch", fmt::format("{} sequences, learning rate {:g}, seed {}", settings.batch,
                                         settings.learning_rate, settings.seed)},
                   {"products", fmt::format("{}, at most {:.3f} TFLOP/s per rank measured", ops.description(),
                                            arguments.report.peak / 1e12)},
                   {"memory", memory_words(engine)},
                   {"determinism", determinism_words(arguments, order)},
                   {"command", shell_words(arguments.command)},
                   {"program", kVersion},
                   {"begun", fmt::format("{:%F %T} UTC", fmt::gmtime(std::time(nullptr)))}};
  if (!text.is_bytes()) return {};
  journal.levels = {{"order-1 entropy of the text", order_one_entropy(text.bytes())}};
  const Result<double> xz = xz_bits(text.bytes().last(static_cast<size_t>(text.held_out_size())));
  if (!xz.ok()) return xz.status();
  journal.levels.push_back({"xz of the held-out tenth", *xz});
  return {};
}

/// Evaluates and samples a checkpoint.
Result<RunEnd> sample_from(const std::string& path, Sharded& engine, const ReportSettings& report) {
  const auto loaded = engine.load(path);
  WEIR_TRY(loaded.status());
  WEIR_TRY(evaluate_and_sample(engine, *loaded, report));
  return RunEnd{.steps = loaded->step};
}

/// Trains with the present ranks, from what they have of a state or from the newest checkpoint on, or samples
/// from a checkpoint. `engine`: that of this run, also after an error.
Result<RunEnd> train_together(const World& world, const Arguments& arguments, const Text& text, Ops& ops,
                              CarriedState& carried, std::unique_ptr<Sharded>& engine) {
  const bool may_simplify = arguments.report.goes_on && world.newcomers() == 0;
  auto made = make_engine(world, may_simplify, arguments.settings, text, ops);
  WEIR_TRY(made.status());
  engine = std::move(*made);
  if (arguments.report.goes_on) {
    const auto given = carried.give(world, *engine);
    WEIR_TRY(given.status());
    if (!*given && world.rank() == 0)
      fmt::print("not all of the state is on the ranks that are left; it is that of the newest checkpoint\n");
  }
  ReportSettings report = arguments.report;
  report.ranks = world.ranks();
  report.prints = world.rank() == 0;
  if (report.prints) {
    const auto order = world.order_of_sums();
    WEIR_TRY(order.status());
    print_beginning(arguments, report.ranks, text, ops, *engine, *order);
    if (!world.join_addresses().empty()) fmt::print("processes may join at {}\n", world.join_addresses());
    WEIR_TRY(tell_page(report.journal, arguments, text, ops, *engine, *order));
  }
  Result<RunEnd> ending = arguments.model.sample_from.empty()
                              ? train(*engine, engine->settings(), report)
                              : sample_from(arguments.model.sample_from, *engine, report);
  const bool is_done = ending.ok() && ending->stop_signal == 0 && !ending->admits;
  if (is_done && !arguments.exported.empty()) {
    const Status exported = export_model(world, *engine, arguments.exported);
    if (!exported.ok()) ending = exported;
    if (ending.ok() && report.prints) fmt::print("exported to {}\n", arguments.exported);
  }
  return ending;
}

/// Trains to the end, while ranks are lost and processes join.
Result<RunEnd> train_on(World& world, Arguments& arguments, const Text& text, Ops& ops) {
  CarriedState carried;
  arguments.report.goes_on = world.newcomers() > 0;
  for (;;) {
    std::unique_ptr<Sharded> engine;
    const Result<RunEnd> ending = train_together(world, arguments, text, ops, carried, engine);
    const Status& failure = ending.status();
    if (!failure.ok() && engine != nullptr) engine->abort();
    if (failure.ok() && !ending->admits) return ending;
    const bool is_final = failure.code() == Code::invalid_argument && world.newcomers() == 0;
    if (!failure.ok() && (!arguments.launch.regroups || is_final)) return ending;
    const auto changed = change_ranks(world, failure, arguments.settings, engine, carried);
    WEIR_TRY(changed.status());
    if (world.rank() == 0) fmt::print("{}\n", *changed);
    arguments.report.goes_on = true;
  }
}

/// Must run before ranks meet: communicators belong to the GPU that is current.
Result<Device> choose_device(const Arguments& arguments) {
  const Launched launched =
      find_launched([](const char* name) { return std::getenv(name); }).value_or(Launched());
  return open_device(arguments.device, launched.local_rank.value_or(launched.rank),
                     arguments.settings.precision);
}

/// The options that all ranks have in common, and the parameters that they begin with.
Result<std::vector<CommonSetting>> all_common(const Arguments& arguments, const Text& text, bool on_gpu) {
  const auto whether = [](bool given) { return given ? "given" : "not given"; };
  const auto path = [](const std::string& given) { return given.empty() ? "not given" : given; };
  std::vector<CommonSetting> common = common_options(arguments.settings, arguments.report, text);
  common.push_back({"--deterministic", arguments.determinism});
  common.push_back({"--auto", whether(arguments.automatic)});
  common.push_back({"--regroup", whether(arguments.launch.regroups)});
  if (arguments.launch.job.empty())
    common.push_back({"--spares", fmt::format("{}", arguments.launch.spares)});
  common.push_back({"--sample-from", path(arguments.model.sample_from)});
  common.push_back({"--export", whether(!arguments.exported.empty())});
  std::string imported = "not given";
  if (arguments.settings.imported != nullptr) {
    const auto checksum = arguments.settings.imported->checksum();
    WEIR_TRY(checksum.status());
    imported = fmt::format("a model with checksum {:016x}", *checksum);
  }
  common.push_back({"--import", imported});
  if (arguments.determinism != "off")
    common.push_back(
        {"the code of matrix products (any with --deterministic off)", on_gpu ? "a GPU's" : products_code()});
  return common;
}

/// What the report says of tokens, and a beginning for the generated text that is among them.
Status prepare_report(const TrainingData& data, Arguments& arguments) {
  ReportSettings& report = arguments.report;
  report.tokenizer = data.tokenizer;
  report.tokens_are_bytes = data.text.is_bytes();
  if (!report.tokens_are_bytes) report.journal.symbol = "token";
  if (!arguments.prompt_given && data.tokenizer->vocabulary() == 0) report.prompt.clear();
  const auto prompt = data.tokenizer->encode(report.prompt);
  return prompt.ok() ? Status() : Status(prompt.status().code(), "--prompt: " + prompt.status().message());
}

/// Of the ways that --auto does not choose from.
Status check_automatic(const Settings& settings, const Launch& launch) {
  std::string given;
  if (launch.spares > 0) given = "--spares";
  if (!launch.job.empty()) given = "--join";
  if (settings.local_steps > 0) given = "--local-steps";
  if (given.empty()) return {};
  return Status(
      Code::invalid_argument,
      fmt::format("--auto was given with {}, which it never chooses; expected only one of the two", given));
}

// Chooses settings, and keeps the usual ones if a few steps with them are faster.
Status plan_and_try(const World& world, const Text& text, Arguments& arguments, Ops& ops) {
  Settings& settings = arguments.settings;
  WEIR_TRY(check_automatic(settings, arguments.launch));
  const auto plan = plan_run(world, settings, arguments.given, ops);
  WEIR_TRY(plan.status());
  arguments.report.predicted = plan->step_seconds();
  if (world.rank() == 0) fmt::print("{}\n", plan->describe());
  if (!plan->usual_fits) return {};
  const auto trial = try_both(world, settings, plan->usual, text, ops);
  WEIR_TRY(trial.status());
  if (world.rank() == 0) fmt::print("{}\n", trial->describe());
  if (!trial->keeps_usual()) return {};
  settings = plan->usual;
  arguments.report.predicted = trial->usual;
  return {};
}

/// The ranks of the job, or a world of its own for a process that is going to join one.
Result<World> find_world(const Arguments& arguments) {
  const std::string& job = arguments.launch.job;
  const int order = order_for(arguments.determinism);
  if (job.empty()) return World::join(order, arguments.launch.spares);
  // Others may join at this process later, by the same network.
  setenv("NCCL_COMM_ID", job.substr(0, job.find(',')).c_str(), 1);
  return World::alone(order);
}

/// Lets processes with these options join, or joins; false: the job is done.
Result<bool> take_part(World& world, const Launch& launch, const std::string& options) {
  if (!world.is_outside()) {
    if (launch.regroups) WEIR_TRY(world.listen_for_newcomers(options));
    return true;
  }
  const auto entered = world.enter(launch.job.empty() ? std::getenv("NCCL_COMM_ID") : launch.job, options);
  if (entered.ok() && *entered) fmt::print("joined the job as rank {} of {}\n", world.rank(), world.ranks());
  std::fflush(stdout);
  return entered;
}

Result<RunEnd> run(Arguments& arguments) {
  Settings& settings = arguments.settings;
  WEIR_TRY(choose_model(arguments.model, settings));
  settings.canonical = arguments.determinism == "canonical";
  settings.sharding.backward_prefetch = settings.sharding.forward_prefetch;
  WEIR_TRY(check(settings));
  const std::string& sampled = arguments.model.sample_from;
  if (settings.checkpoints_local && settings.checkpoints.empty() && sampled.empty())
    return Status(Code::invalid_argument,
                  "--checkpoints-local was given without --checkpoints; expected the folder, too");
  const KeptTokenizer kept =
      use_kept_tokenizer(sampled.empty() ? settings.checkpoints : sampled, arguments.data);
  use_imported_tokenizer(settings, arguments.data);
  auto opened = open_source(arguments.data);
  WEIR_TRY(opened.status());
  WEIR_TRY(kept.check(opened->tokenizer_files));
  if (!opened->tokenizer_files.empty())
    settings.tokenizer_files = std::make_shared<const TokenizerFiles>(opened->tokenizer_files);

  use_threads(arguments.threads);
  auto device = choose_device(arguments);
  WEIR_TRY(device.status());
  Ops& ops = device->ops();
  settings.sharding.gpu = device->gpu_ops.get();
  arguments.report.peak = device->peak;
  auto world = find_world(arguments);
  WEIR_TRY(world.status());
  const auto data = read_data(world->comm(), std::move(*opened));
  WEIR_TRY(data.status());
  const bool is_new = settings.imported == nullptr && arguments.model.sample_from.empty();
  WEIR_TRY(fit_settings(arguments.data, *data, is_new, settings));
  WEIR_TRY(prepare_report(*data, arguments));
  const Text& text = data->text;
  const auto common = all_common(arguments, text, device->gpu != nullptr);
  WEIR_TRY(common.status());
  WEIR_TRY(check_common(*world, *common));
  if (!arguments.exported.empty()) WEIR_TRY(try_export(*world, arguments.exported, settings.config));
  if (arguments.automatic) {
    WEIR_TRY(plan_and_try(*world, text, arguments, ops));
  }
  const auto is_in = take_part(*world, arguments.launch, lines_of(*common));
  WEIR_TRY(is_in.status());
  if (!*is_in) return RunEnd();
  const Result<RunEnd> ending = train_on(*world, arguments, text, ops);
  if (ending.ok() && ending->stop_signal != 0 && world->rank() == 0) {
    fmt::print("{}\n", restart_words(*ending, settings, arguments.command, arguments.launched));
    std::fflush(stdout);  // before the launcher sees a rank end, and ends the others
  }
  return ending;
}

// Reports arrays that do not fit into memory like any other error.
Result<RunEnd> run_in_memory(Arguments& arguments) {
  try {
    return run(arguments);
  } catch (const std::bad_alloc&) {
    return Status(Code::system_error,
                  fmt::format("the arrays of {} with {} sequences at once do not fit into memory; a lower "
                              "--micro-batch or --recompute full needs less",
                              name_of(arguments.settings.config),
                              arguments.settings.micro_batch > 0 ? arguments.settings.micro_batch
                                                                 : arguments.settings.batch));
  }
}

// Starts the ranks that --ranks and --hosts ask for, or is one of those that a launcher has started.
Result<RunEnd> start(Arguments& arguments, char** argv) {
  const Lookup variables = [](const char* name) { return std::getenv(name); };
  const auto starts = starts_ranks(arguments.launch, variables);
  WEIR_TRY(starts.status());
  if (*starts) return start_ranks(arguments.launch, argv);
  arguments.launched = find_launched(variables) && !arguments.launch.asked();
  return run_in_memory(arguments);
}

// --plan-only has options of its own: for example, the cluster's batch is not the run's.
int plan_only(int argc, char** argv) {
  CLI::App app("weir-train --plan-only: chooses how to train a model on a cluster, and predicts how fast",
               "weir-train");
  write_plainly(app);
  app.set_version_flag("--version", kVersion, "Print the version and exit");
  plan::PlanOptions options;
  plan::add_plan_options(app, options);
  app.get_option("--models")->required();
  const std::optional<int> end = parse(app, argc, argv);
  return end ? *end : plan::plan_only(options);
}

/// `started`: by start_ranks(), with these shared errors.
int train_model(int argc, char** argv, bool started, int shared_errors) {
  CLI::App app("Trains a decoder-only transformer on bytes of text, or on tokens", "weir-train");
  write_plainly(app);
  app.set_version_flag("--version", kVersion, "Print the version and exit");
  app.footer(
      "weir-train --plan-only --help shows the options for planning on a cluster without running there.\n\n"
      "SIGTERM, SIGINT and SIGUSR1 on any rank let all ranks finish the step, save a checkpoint (with "
      "--checkpoints), print the command that goes on, and exit with 128 plus the signal. Another SIGTERM or "
      "SIGINT, a second later, ends at once.\n\n"
      "Examples:\n  weir-train --ranks 4 --steps 100 --page run.html\n"
      "  weir-train --ranks 2 --checkpoints folder\n  mpirun -x NCCL_COMM_ID=host0:29400 -np 8 weir-train");
  Arguments arguments;
  arguments.launch.started = started;
  add_model(app, arguments);
  add_data(app, arguments.data, arguments.settings);
  add_training(app, arguments);
  add_ranks(app, arguments);
  add_sharding_options(app, arguments.settings);
  add_report(app, arguments);
  if (const std::optional<int> end = parse(app, argc, argv)) return *end;
  const auto given = [&](const char* option) { return app.count(option) > 0; };
  arguments.given = {given("--strategy"),
                     given("--shard-ranks"),
                     given("--micro-batch"),
                     given("--recompute"),
                     given("--prefetch"),
                     given("--limiter") || given("--gathers"),
                     given("--pipeline") || given("--tensor")};
  arguments.prompt_given = given("--prompt");
  arguments.command = {argv, static_cast<size_t>(argc)};
  const Result<RunEnd> ending = start(arguments, argv);
  if (ending.ok()) return ending->stop_signal == 0 ? 0 : kExitSignal + ending->stop_signal;
  print_error(shared_errors, ending.status().message());
  return ending.status().code() == Code::invalid_argument ? kExitUsage : 1;
}

}  // namespace
}  // namespace weir::trainer

int main(int argc, char** argv) {
  const bool started = argc > 1 && std::string_view(argv[1]).starts_with(weir::trainer::kStarted);
  int shared_errors = -1;
  if (started) {
    shared_errors = weir::trainer::shared_errors_of(argv[1] + weir::trainer::kStarted.size());
    argv[1] = argv[0];
    ++argv;
    --argc;
  }
  const bool plans = std::find(argv + 1, argv + argc, std::string_view("--plan-only")) != argv + argc;
  return plans ? weir::trainer::plan_only(argc, argv)
               : weir::trainer::train_model(argc, argv, started, shared_errors);
}
