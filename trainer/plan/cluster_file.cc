// SPDX-License-Identifier: Apache-2.0

#include "trainer/plan/cluster_file.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <set>

#include "trainer/plan/words.h"

namespace weir::trainer::plan {
namespace {

constexpr std::string_view kTitle = "weir cluster 1";
constexpr size_t kMostBytes = size_t{1} << 20;
constexpr int kMostUnits = 10'000;
constexpr double kMostParameters = 1e14;

/// A line with one number of the cluster.
struct Figure {
  std::string_view word;
  double Cluster::*member;
  std::string_view unit;  ///< unit in the file; empty: a plain number
  double scale;
  double lowest, highest;  ///< allowed range, in units of the file
  bool required;
  bool constant;  ///< whether its origin must be stated
  bool whole = false;
};

constexpr std::array kFigures = {
    Figure{"nodes", &Cluster::nodes, "", 1, 1, 1e6, true, false, true},
    Figure{"gpus", &Cluster::gpus, "", 1, 1, 1024, true, false, true},
    Figure{"memory", &Cluster::memory, "GB", 1e9, 1e-3, 1e5, true, false},
    Figure{"reserve", &Cluster::reserve, "GB", 1e9, 0, 1e5, false, true},
    Figure{"peak", &Cluster::peak, "TFLOP/s", 1e12, 1e-6, 1e6, true, false},
    Figure{"compute", &Cluster::compute, "TFLOP/s", 1e12, 1e-6, 1e6, true, true},
    Figure{"half-width", &Cluster::half_width, "", 1, 0, 1e6, false, true},
    Figure{"inside", &Cluster::inside, "GB/s", 1e9, 1e-6, 1e6, true, true},
    Figure{"nic", &Cluster::nic, "GB/s", 1e9, 1e-6, 1e6, true, true},
    Figure{"usable", &Cluster::usable, "", 1, 1e-6, 1, false, true},
    Figure{"latency", &Cluster::latency, "us", 1e-6, 0, 1e7, true, true},
    Figure{"inside-latency", &Cluster::inside_latency, "us", 1e-6, 0, 1e7, false, true},
    Figure{"contention", &Cluster::contention, "", 1, 0, 0.99, false, true},
};

class Reader {
 public:
  Reader(std::string_view name, std::string_view text) : name_(name), text_(text) {}

  Result<ClusterFile> run() {
    while (!text_.empty()) {
      const size_t end = std::min(text_.find('\n'), text_.size());
      const std::string_view line = text_.substr(0, end);
      text_.remove_prefix(std::min(end + 1, text_.size()));
      ++line_;
      Words words(place(), line);
      if (words.empty()) continue;
      if (!titled_) {
        if (words.rest() != kTitle)
          return words.refuse(fmt::format("expected '{}' as the first line", kTitle));
        titled_ = true;
        continue;
      }
      WEIR_TRY(read_line(words));
    }
    WEIR_TRY(check());
    return std::move(file_);
  }

 private:
  std::string place() const { return fmt::format("{}:{}", name_, line_); }

  Status read_line(Words& words) {
    for (size_t i = 0; i < kFigures.size(); ++i)
      if (words.take(kFigures[i].word)) return read_figure(words, i);
    if (words.take("title")) {
      if (!file_.cluster.title.empty()) return words.refuse("a second title");
      file_.cluster.title = words.rest();
      return {};
    }
    if (words.take("collective")) return once(words, "collective", &Reader::read_collective);
    if (words.take("bytes")) return once(words, "bytes", &Reader::read_bytes);
    if (words.take("model")) return read_model(words);
    if (words.take("unit")) return read_unit(words);
    if (words.take("row")) return read_row(words);
    if (words.take("plan")) return read_question(words);
    return words.refuse(fmt::format("unknown line '{}' in a cluster file", *words.word("a word")));
  }

  Status once(Words& words, const std::string& line, Status (Reader::*read)(Words&)) {
    if (!lines_.insert(line).second) return words.refuse(fmt::format("a second {}", line));
    return (this->*read)(words);
  }

  Status read_figure(Words& words, size_t index) {
    const Figure& figure = kFigures[index];
    if (seen_[index]) return words.refuse(fmt::format("a second {}", figure.word));
    seen_[index] = true;
    const auto value = words.number(figure.word, figure.lowest, figure.highest);
    WEIR_TRY(value.status());
    if (figure.whole && *value != std::floor(*value))
      return words.refuse(fmt::format("{} {}; expected a whole number", figure.word, *value));
    file_.cluster.*figure.member = *value * figure.scale;
    if (!figure.unit.empty() && !words.take(figure.unit))
      return words.refuse(fmt::format("expected {} after {}", figure.unit, *value));
    if (figure.constant) {
      const auto origin = words.one_of("where it comes from", {"given", "assumed", "fitted"});
      WEIR_TRY(origin.status());
      file_.constants.push_back({std::string(figure.word), static_cast<Origin>(*origin)});
    }
    return words.end();
  }

  Status read_collective(Words& words) {
    const auto kind = words.one_of("an algorithm", {"ring", "hierarchical"});
    WEIR_TRY(kind.status());
    file_.cluster.collective = static_cast<Collective>(*kind);
    return words.end();
  }

  Status read_bytes(Words& words) {
    constexpr std::array<std::pair<std::string_view, double Precision::*>, 3> members = {
        {{"gather", &Precision::gather},
         {"reduce", &Precision::reduce},
         {"activation", &Precision::activation}}};
    for (const auto& [word, member] : members) {
      if (!words.take(word)) continue;
      const auto bytes = words.integer(fmt::format("bytes per element after {}", word), 1, 8);
      WEIR_TRY(bytes.status());
      file_.cluster.precision.*member = *bytes;
    }
    return words.end();
  }

  Status read_model(Words& words) {
    const auto name = words.word("a model's name");
    WEIR_TRY(name.status());
    if (file_.model(*name) != nullptr) return words.refuse(fmt::format("a second model {}", *name));
    DecoderShape shape;
    shape.name = *name;
    const bool units = words.take("units");
    if (!units) WEIR_TRY(labelled(words, "layers", 1, kMostUnits, shape.layers));
    WEIR_TRY(labelled(words, "width", 1, 1e7, shape.width));
    WEIR_TRY(labelled(words, "heads", 1, 1e6, shape.heads));
    WEIR_TRY(labelled(words, "sequence", 1, 1e8, shape.sequence));
    WEIR_TRY(labelled(words, "vocabulary", 1, 1e8, shape.vocabulary));
    shape.tied = !units && words.take("tied");
    shape.flash = words.take("flash");
    file_.models.push_back(
        units ? Model{shape.name, shape.width, shape.heads, shape.sequence, shape.vocabulary, shape.flash, {}}
              : decoder(shape));
    takes_units_ = units;
    return words.end();
  }

  /// unit COUNT NAME PARAMETERS [products N] [attentions N] [kept]
  Status read_unit(Words& words) {
    if (!takes_units_)
      return words.refuse("a unit before any model; expected the line 'model NAME units ...' first");
    const auto count = words.integer("how many units", 1, kMostUnits);
    WEIR_TRY(count.status());
    const auto name = words.word("a unit's name");
    WEIR_TRY(name.status());
    const auto parameters = words.number("parameters", 0, kMostParameters);
    WEIR_TRY(parameters.status());
    Unit unit{*name, *parameters, *parameters, 0, false};
    if (words.take("products")) {
      const auto products = words.number("parameters in products", 0, kMostParameters);
      WEIR_TRY(products.status());
      unit.products = *products;
    }
    if (words.take("attentions")) {
      const auto attentions = words.integer("attention cores", 0, 100);
      WEIR_TRY(attentions.status());
      unit.attentions = *attentions;
    }
    unit.kept = words.take("kept");
    std::vector<Unit>& units = file_.models.back().units;
    if (units.size() + static_cast<size_t>(*count) > kMostUnits)
      return words.refuse(fmt::format("more than {} units", kMostUnits));
    units.insert(units.end(), static_cast<size_t>(*count), unit);
    return words.end();
  }

  static Status labelled(Words& words, std::string_view label, double lowest, double highest, double& into) {
    if (!words.take(label)) return words.refuse(fmt::format("expected '{}' and a number here", label));
    const auto value = words.integer(label, static_cast<int>(lowest), static_cast<int>(highest));
    WEIR_TRY(value.status());
    into = *value;
    return {};
  }

  Status model_name(Words& words, std::string& into) {
    const auto name = words.word("a model's name");
    WEIR_TRY(name.status());
    if (file_.model(*name) == nullptr)
      return words.refuse(
          fmt::format("unknown model '{}'; expected its 'model' line before this one", *name));
    into = *name;
    return {};
  }

  Status read_question(Words& words) {
    Question question;
    WEIR_TRY(model_name(words, question.model));
    WEIR_TRY(labelled(words, "nodes", 1, 1e6, question.nodes));
    if (words.take("batch")) {
      const auto batch = words.integer("sequences per GPU", 1, 1'000'000);
      WEIR_TRY(batch.status());
      question.batch = *batch;
    }
    file_.questions.push_back(question);
    return words.end();
  }

  Status read_row(Words& words) {
    Row row;
    row.line = line_;
    WEIR_TRY(model_name(words, row.model));
    WEIR_TRY(labelled(words, "nodes", 1, 1e6, row.nodes));
    WEIR_TRY(read_batch(words, row));
    WEIR_TRY(read_job(words, row));
    if (row.is_pipeline() && row.micro_batch == 0)
      return words.refuse("the memory of a pipeline is not predicted; expected a number after 'batch'");
    WEIR_TRY(read_published(words, row));
    file_.rows.push_back(row);
    return words.end();
  }

  /// batch N|largest [times N]
  static Status read_batch(Words& words, Row& row) {
    if (!words.take("batch")) return words.refuse("expected 'batch' and a number or 'largest' here");
    if (!words.take("largest")) {
      const auto batch = words.integer("sequences per GPU", 1, 1'000'000);
      WEIR_TRY(batch.status());
      row.micro_batch = row.job.micro_batch = *batch;
    }
    if (words.take("times")) {
      const auto times = words.integer("micro-batches per step", 1, 1'000'000);
      WEIR_TRY(times.status());
      row.job.micro_batches = *times;
    }
    return {};
  }

  /// STRATEGY | pipeline STAGES tensor N interleave N; then recompute, prefetch, limiter, speed.
  static Status read_job(Words& words, Row& row) {
    if (words.take("pipeline")) {
      const auto stages = words.integer("stages", 1, 10'000);
      WEIR_TRY(stages.status());
      row.pipeline.stages = *stages;
      double number = 1;
      WEIR_TRY(labelled(words, "tensor", 1, 1024, number));
      row.pipeline.tensor = static_cast<int>(number);
      WEIR_TRY(labelled(words, "interleave", 1, 1024, number));
      row.pipeline.interleave = static_cast<int>(number);
    } else {
      const auto strategy =
          words.one_of("a strategy", {name(Strategy::no_shard), name(Strategy::shard_grad_op),
                                      name(Strategy::full_shard), name(Strategy::hybrid_shard)});
      WEIR_TRY(strategy.status());
      row.job.strategy = static_cast<Strategy>(*strategy);
      double shard = 0;
      if (row.job.strategy == Strategy::hybrid_shard) WEIR_TRY(labelled(words, "shard", 1, 1e6, shard));
      row.job.shard = static_cast<int>(shard);
    }
    if (words.take("recompute")) {
      const auto recompute = words.one_of("a recomputation", {"none", "selective", "full"});
      WEIR_TRY(recompute.status());
      row.job.recompute = static_cast<Recompute>(*recompute);
    }
    WEIR_TRY(read_schedule(words, row.job));
    if (words.take("speed")) {
      const auto speed = words.number("times the achieved FLOP/s", 0.01, 100);
      WEIR_TRY(speed.status());
      row.job.speed = *speed;
    }
    return {};
  }

  static Status read_schedule(Words& words, Job& job) {
    if (words.take("prefetch")) {
      job.prefetch = kEverything;
      if (!words.take("all")) {
        const auto depth = words.integer("a prefetch depth, or all", 0, kEverything);
        WEIR_TRY(depth.status());
        job.prefetch = *depth;
      }
    }
    if (!words.take("limiter")) return {};
    const auto kind = words.one_of("a limiter", {"off", "block", "sliding", "stall"});
    WEIR_TRY(kind.status());
    job.limiter.kind = static_cast<Limiter::Kind>(*kind);
    if (job.limiter.kind == Limiter::Kind::off || job.limiter.kind == Limiter::Kind::stall) return {};
    const auto gathers = words.integer("gathers", 1, 10'000);
    WEIR_TRY(gathers.status());
    job.limiter.gathers = *gathers;
    return {};
  }

  /// is [above] VALUE MEASURE [fitted]
  static Status read_published(Words& words, Row& row) {
    if (!words.take("is")) return words.refuse("expected 'is' and the published figure here");
    row.above = words.take("above");
    const auto value = words.number("the published figure", 1e-9, 1e12);
    WEIR_TRY(value.status());
    row.published = *value;
    const auto measure = words.one_of("what it counts", {name(Measure::scaling), name(Measure::tflops),
                                                         name(Measure::mfu), name(Measure::tokens)});
    WEIR_TRY(measure.status());
    row.measure = static_cast<Measure>(*measure);
    row.fitted = words.take("fitted");
    return {};
  }

  Status check() const {
    const auto refuse = [this](const std::string& sentence) {
      return Status(Code::invalid_argument, fmt::format("{}: {}", name_, sentence));
    };
    if (!titled_) return refuse(fmt::format("expected '{}' as the first line", kTitle));
    for (size_t i = 0; i < kFigures.size(); ++i)
      if (kFigures[i].required && !seen_[i])
        return refuse(fmt::format("the line '{}' is missing", kFigures[i].word));
    int fitted = 0;
    for (const Constant& constant : file_.constants) fitted += constant.origin == Origin::fitted ? 1 : 0;
    std::set<double> speeds;
    for (const Row& row : file_.rows) speeds.insert(row.job.speed);
    speeds.erase(1);
    fitted += static_cast<int>(speeds.size());
    if (fitted > kMostFitted)
      return refuse(fmt::format("{} constants are fitted; expected at most {}", fitted, kMostFitted));
    for (const Model& model : file_.models)
      if (model.units.empty()) return refuse(fmt::format("model {} has no units", model.name));
    if (file_.cluster.reserve >= file_.cluster.memory)
      return refuse("the reserve takes all of the memory; expected less");
    return {};
  }

  std::string_view name_;
  std::string_view text_;
  int line_ = 0;
  bool titled_ = false;
  bool takes_units_ = false;
  std::array<bool, kFigures.size()> seen_{};
  std::set<std::string> lines_;  ///< other lines that may occur only once
  ClusterFile file_;
};

}  // namespace

std::string_view name(Measure measure) {
  switch (measure) {
    case Measure::scaling: return "%scaling";
    case Measure::tflops: return "TFLOP/s";
    case Measure::mfu: return "%MFU";
    case Measure::tokens: return "tokens/s";
  }
  return "";
}

const Model* ClusterFile::model(std::string_view wanted) const {
  for (const Model& model : models)
    if (model.name == wanted) return &model;
  return nullptr;
}

Result<ClusterFile> parse_cluster_file(std::string_view name, std::string_view text) {
  return Reader(name, text).run();
}

Result<ClusterFile> read_cluster_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::string text;
  if (stream) text.assign(std::istreambuf_iterator<char>(stream), {});
  if (!stream && !stream.eof())
    return Status(Code::invalid_argument, fmt::format("{}: cannot be read; expected a cluster file", path));
  if (text.size() > kMostBytes)
    return Status(Code::invalid_argument,
                  fmt::format("{}: has {} bytes; expected at most {}", path, text.size(), kMostBytes));
  return parse_cluster_file(path, text);
}

}  // namespace weir::trainer::plan
