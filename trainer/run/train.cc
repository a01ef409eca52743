// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <numbers>
#include <optional>
#include <vector>

#include "trainer/run/stop_signals.h"

namespace weir::trainer {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double in_bits(double nats) { return nats / std::numbers::ln2; }

const char* symbol_of(const ReportSettings& report) { return report.tokens_are_bytes ? "byte" : "token"; }

/// "bits_per_byte"
std::string bits_key(const ReportSettings& report) { return fmt::format("bits_per_{}", symbol_of(report)); }

/// The metrics file, or nothing.
class Metrics {
 public:
  /// Adds to a file that is there: it may be that of the run that goes on.
  Status open(const std::string& path) {
    if (path.empty()) return {};
    path_ = path;
    file_.reset(std::fopen(path.c_str(), "a"));
    return file_ == nullptr ? failed("opened") : Status();
  }

  Status write(const json& object) {
    if (file_ == nullptr) return {};
    const std::string line = object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    const bool written = std::fputs(line.c_str(), file_.get()) >= 0 && std::fflush(file_.get()) == 0;
    return written ? Status() : failed("written");
  }

 private:
  struct Close {
    void operator()(FILE* file) const { std::fclose(file); }
  };

  Status failed(const char* what) const {
    return Status(Code::system_error,
                  fmt::format("{}: the metrics cannot be {}: {}", path_, what, std::strerror(errno)));
  }

  std::string path_;
  std::unique_ptr<FILE, Close> file_;
};

/// Totals since the last line of progress.
class Progress {
 public:
  Progress(const Settings& settings, const ReportSettings& report) : settings_(settings), report_(report) {}

  Status add(Index step, const StepResult& result, double seconds, Metrics& metrics, Journal& journal) {
    seconds_ += seconds;
    total_ += seconds;
    times_.push_back(seconds);
    ++steps_;
    const double tokens = static_cast<double>(settings_.batch * settings_.config.length);
    WEIR_TRY(metrics.write({{"step", step + 1},
                            {"loss", result.loss},
                            {bits_key(report_), in_bits(result.loss)},
                            {"gradient_norm", result.gradient_norm},
                            {"learning_rate", result.learning_rate},
                            {"seconds", seconds},
                            {"tokens_per_second", tokens / seconds},
                            {"communication_ms", result.busy_ms},
                            {"exposed_communication_ms", result.waited_ms},
                            {"skipped", result.skipped},
                            {"bytes_on_the_wire", result.bytes},
                            {"memory_bytes", result.memory},
                            {"flops", tokens * settings_.config.operations_per_token() / seconds}}));
    if (result.skipped) return skip(step, result);
    skipped_in_a_row_ = 0;
    journal.add({static_cast<double>(step + 1), in_bits(result.loss), tokens / seconds, result.busy_ms,
                 result.waited_ms, static_cast<double>(result.bytes) / 1e6},
                result.spans);
    waited_ms_ += result.waited_ms;
    busy_ms_ += result.busy_ms;
    bytes_ += result.bytes;
    if (report_.prints && ((step + 1) % report_.every == 0)) print(step, result, tokens);
    return {};
  }

  double total() const { return total_; }

  /// Says how many steps were skipped, if there were any.
  Status count_skipped(Metrics& metrics) const {
    if (skipped_ == 0) return {};
    if (report_.prints)
      fmt::print("skipped steps, of which the loss or the gradient was not finite: {}\n", skipped_);
    return metrics.write({{"skipped_steps", skipped_}});
  }

  /// After the last step, reports the median step time and the predicted one.
  Status compare(Metrics& metrics) {
    if (report_.predicted <= 0 || times_.empty()) return {};
    const auto middle = times_.begin() + static_cast<std::ptrdiff_t>(times_.size() / 2);
    std::nth_element(times_.begin(), middle, times_.end());
    if (report_.prints)
      fmt::print("median step time {:.4g} s, predicted {:.4g} s ({:+.0f}%)\n", *middle, report_.predicted,
                 100 * (report_.predicted / *middle - 1));
    return metrics.write({{"step_seconds", *middle}, {"predicted_step_seconds", report_.predicted}});
  }

  /// Prints the table's header before the first line.
  void begin() {
    if (report_.prints) print_heads();
  }

 private:
  Status skip(Index step, const StepResult& result) {
    ++skipped_;
    const std::string what = fmt::format("step {}: the loss is {} and the gradient's norm {}", step + 1,
                                         result.loss, result.gradient_norm);
    if (++skipped_in_a_row_ > kMostSkipped)
      return Status(
          Code::invalid_usage,
          fmt::format("{}, as in the {} steps before; a lower --learning-rate may help", what, kMostSkipped));
    if (report_.prints) fmt::print("{}; the step is skipped\n", what);
    return {};
  }

  void print(Index step, const StepResult& result, double tokens) {
    const auto steps = static_cast<double>(steps_);
    const double rate = tokens * steps / seconds_;
    const double flops = rate * settings_.config.operations_per_token();
    fmt::print("{:>6}  {:>7.4f}  {:>9.3f}  {:>6.2f}  {:>8.2e}  {:>8.0f}  {:>7.3f}", step + 1, result.loss,
               in_bits(result.loss), result.gradient_norm, result.learning_rate, rate, flops / 1e12);
    fmt::print("  {:>7.1f}", static_cast<double>(result.memory) / (1 << 20));
    if (report_.peak > 0) fmt::print("  {:>4.0f}%", 100 * flops / report_.peak / report_.ranks);
    if (report_.ranks > 1)
      fmt::print("  {:>7.1f}  {:>7.1f}  {:>10.1f}  {:>6.0f}%", static_cast<double>(bytes_) / 1e6 / steps,
                 busy_ms_ / steps, waited_ms_ / steps, 100 * hidden());
    fmt::print("\n");
    std::fflush(stdout);
    seconds_ = 0;
    steps_ = 0;
    waited_ms_ = busy_ms_ = 0;
    bytes_ = 0;
  }

  /// Communication is measured on this rank, per step.
  void print_heads() {
    fmt::print("{:>6}  {:>7}  {:>9}  {:>6}  {:>8}  {:>8}  {:>7}", "step", "nats",
               fmt::format("bits/{}", symbol_of(report_)), "norm", "rate", "tokens/s", "TFLOP/s");
    fmt::print("  {:>7}", "MiB");
    if (report_.peak > 0) fmt::print("  {:>5}", "peak");
    if (report_.ranks > 1)
      fmt::print("  {:>7}  {:>7}  {:>10}  {:>7}", "wire MB", "comm ms", "exposed ms", "overlap");
    fmt::print("\n");
  }

  /// The part of communication that overlapped computing.
  double hidden() const { return busy_ms_ > 0 ? std::max(0.0, 1 - waited_ms_ / busy_ms_) : 1; }

  const Settings& settings_;
  const ReportSettings& report_;
  double seconds_ = 0;
  double total_ = 0;
  std::vector<double> times_;  ///< times of all steps
  double waited_ms_ = 0;
  double busy_ms_ = 0;
  uint64_t bytes_ = 0;
  Index steps_ = 0;
  Index skipped_ = 0;
  Index skipped_in_a_row_ = 0;
};

/// `seconds`: of training until here; nullopt: this run does not train.
Status evaluate(TrainingEngine& engine, const ReportSettings& report, Index step,
                std::optional<double> seconds, Metrics& metrics, Journal& journal) {
  Result<double> loss = engine.evaluate();
  if (!loss.ok()) return loss.status();
  journal.add_held_out(static_cast<double>(step), in_bits(*loss));
  if (!report.prints) return {};
  fmt::print("{:>6}  {:>7.4f}  {:>9.3f}  held out{}\n", step, *loss, in_bits(*loss),
             seconds ? fmt::format(", after {:.1f} s of training", *seconds) : "");
  std::fflush(stdout);
  return metrics.write({{"step", step},
                        {"held_out_loss", *loss},
                        {"held_out_" + bits_key(report), in_bits(*loss)},
                        {"training_seconds", seconds.value_or(0)}});
}

void print(const Resumed& resumed) {
  for (const std::string& note : resumed.notes) fmt::print("{}\n", note);
  if (resumed.step > 0) fmt::print("resumed after step {}\n", resumed.step);
}

// Replaces bytes that a terminal cannot show.
std::string printable(const std::string& text) {
  std::string shown;
  for (const char byte : text) {
    const bool plain = byte == '\n' || (byte >= ' ' && byte <= '~');
    shown += plain ? std::string(1, byte) : fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  }
  return shown;
}

/// Trains from `first` on, to the last step or to the one after which ranks were asked to stop.
Result<RunEnd> run_steps(TrainingEngine& engine, const Settings& settings, const ReportSettings& report,
                         Index first, Progress& progress, Metrics& metrics, Journal& journal) {
  const Index end = settings.stop_after > 0 ? std::min(settings.stop_after, settings.steps) : settings.steps;
  RunEnd ending{.steps = first};
  const StopSignals signals;
  while (ending.steps < end && ending.stop_signal == 0 && !ending.admits) {
    const Clock::time_point begin = Clock::now();
    Result<StepResult> result = engine.step(ending.steps);
    if (!result.ok()) return result.status();
    WEIR_TRY(progress.add(ending.steps, *result, seconds_since(begin), metrics, journal));
    ++ending.steps;
    ending.stop_signal = result->stop_signal;
    const bool stops = ending.stop_signal != 0;
    const bool is_last = ending.steps == end || stops;
    ending.admits = result->newcomers && !is_last;
    if (is_last || (settings.checkpoint_every > 0 && ending.steps % settings.checkpoint_every == 0))
      WEIR_TRY(engine.save(ending.steps));
    if (!stops && (is_last || (report.evaluate_every > 0 && ending.steps % report.evaluate_every == 0)))
      WEIR_TRY(evaluate(engine, report, ending.steps, progress.total(), metrics, journal));
  }
  WEIR_TRY(engine.finish_saving());
  return ending;
}

/// Generates the text at the end; empty if none is wanted.
Result<std::string> sample(TrainingEngine& engine, const ReportSettings& report, Metrics& metrics) {
  if (report.sample_tokens == 0) return std::string();
  auto prompt = report.tokenizer->encode(report.prompt);
  WEIR_TRY(prompt.status());
  if (prompt->empty())
    prompt->push_back(report.tokens_are_bytes ? Token{'\n'} : report.tokenizer->separator().value_or(0));
  const auto tokens = engine.generate(*prompt, report.sample_tokens, report.temperature);
  WEIR_TRY(tokens.status());
  const std::string text = report.tokenizer->decode(*tokens);
  std::string shown = printable(text);
  if (report.prints) {
    fmt::print("\n{}\n", shown);
    WEIR_TRY(metrics.write({{"text", text}}));
  }
  return shown;
}

Status print_digest(TrainingEngine& engine, const ReportSettings& report, Metrics& metrics) {
  Result<uint64_t> digest = engine.digest();
  if (!digest.ok()) return digest.status();
  if (report.prints) fmt::print("parameters and moments: {:016x}\n", *digest);
  return metrics.write({{"digest", fmt::format("{:016x}", *digest)}});
}

}  // namespace

Result<RunEnd> train(TrainingEngine& engine, const Settings& settings, const ReportSettings& report) {
  Metrics metrics;
  if (report.prints) WEIR_TRY(metrics.open(report.metrics));
  Progress progress(settings, report);
  Journal journal(report.journal);
  if (report.prints) WEIR_TRY(journal.begin());
  Result<Resumed> resumed = engine.resume(report.goes_on);
  if (!resumed.ok()) return resumed.status();
  if (report.prints) print(*resumed);
  progress.begin();
  if (resumed->step == 0) WEIR_TRY(evaluate(engine, report, 0, 0, metrics, journal));
  const auto ending = run_steps(engine, settings, report, resumed->step, progress, metrics, journal);
  WEIR_TRY(ending.status());
  if (ending->admits) return ending;
  const bool stopped = ending->stop_signal != 0;
  if (stopped) ignore_stop_signals();
  WEIR_TRY(progress.count_skipped(metrics));
  WEIR_TRY(progress.compare(metrics));
  WEIR_TRY(print_digest(engine, report, metrics));
  const auto text = stopped ? Result<std::string>(std::string()) : sample(engine, report, metrics);
  WEIR_TRY(text.status());
  WEIR_TRY(journal.finish(engine, *text, report.prints));
  return ending;
}

Status evaluate_and_sample(TrainingEngine& engine, const Resumed& loaded, const ReportSettings& report) {
  Metrics metrics;
  if (report.prints) {
    WEIR_TRY(metrics.open(report.metrics));
    for (const std::string& note : loaded.notes) fmt::print("{}\n", note);
    fmt::print("checkpoint after step {}\n{:>6}  {:>7}  {:>9}\n", loaded.step, "step", "nats",
               fmt::format("bits/{}", symbol_of(report)));
  }
  const JournalSettings no_files;
  Journal none(no_files);
  WEIR_TRY(evaluate(engine, report, loaded.step, std::nullopt, metrics, none));
  WEIR_TRY(print_digest(engine, report, metrics));
  return sample(engine, report, metrics).status();
}

}  // namespace weir::trainer
