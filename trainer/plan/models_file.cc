// SPDX-License-Identifier: Apache-2.0

#include "trainer/plan/models_file.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "trainer/plan/json_fields.h"

namespace weir::trainer::plan {
namespace {

constexpr size_t kMostBytes = size_t{1} << 20;
constexpr int kMostUnits = 10'000;
constexpr double kMostParameters = 1e14;
constexpr int kMostNodes = 100'000;
constexpr int kMostCount = 1'000'000;
constexpr double kMostBytesOfMemory = 1e15;
constexpr double kMostFlops = 1e20;
constexpr int kMostParts = 10'000;
constexpr std::array<std::string_view, 5> kStrategyNames = {"NO_SHARD", "SHARD_GRAD_OP", "FULL_SHARD",
                                                            "HYBRID_SHARD", "HPZ"};
constexpr std::array<std::string_view, 3> kRecomputeNames = {"none", "selective", "full"};
constexpr std::array<std::string_view, 4> kLimiterNames = {"off", "block", "sliding", "stall"};
constexpr std::array<std::string_view, 4> kMeasureNames = {"%scaling", "TFLOP/s", "%MFU", "tokens/s"};
constexpr std::array<std::string_view, 3> kOriginNames = {"given", "assumed", "fitted"};

void read_device(JsonFields device, Cluster& cluster) {
  cluster.memory = device.number("memory", 1, kMostBytesOfMemory);
  cluster.reserve = device.number("reserve", 0, kMostBytesOfMemory, 0);
  cluster.compute = device.number("flops", 1, kMostFlops);
  cluster.peak = device.number("peak", 1, kMostFlops, cluster.compute);
  cluster.half_width = device.number("half_width", 0, 1e6, 0);
  cluster.half_rows = device.number("half_rows", 0, 1e9, 0);
  cluster.contention.computing = device.number("contention", 0, 0.99, 0);
  cluster.contention.transfers = device.number("transfer_contention", 0, 0.99, 0);
  cluster.update = device.number("update", 0, 1, 0);
  cluster.contention.wake = device.number("wake", 0, 1, 0);
  cluster.memory_rate = device.number("memory_rate", 0, 1e15, 0);
  device.end();
  if (cluster.reserve >= cluster.memory) device.refuse("the reserve takes all of the memory; expected less");
}

void read_bytes(JsonFields bytes, Precision& precision) {
  precision.gather = bytes.number("gather", 1, 8, precision.gather);
  precision.reduce = bytes.number("reduce", 1, 8, precision.reduce);
  precision.activation = bytes.number("activation", 1, 8, precision.activation);
  bytes.end();
}

void read_units(JsonFields& fields, Model& model) {
  for (JsonFields& each : fields.objects("units")) {
    const int count = each.whole("count", 1, kMostUnits, 1);
    Unit unit;
    unit.name = each.text("name");
    unit.parameters = each.number("parameters", 0, kMostParameters);
    unit.products = each.number("products", 0, kMostParameters, unit.parameters);
    unit.attentions = each.whole("attentions", 0, 100, 0);
    unit.kept = each.flag("kept");
    each.end();
    if (model.units.size() + static_cast<size_t>(count) > kMostUnits)
      return each.refuse(fmt::format("more than {} units", kMostUnits));
    model.units.insert(model.units.end(), static_cast<size_t>(count), unit);
  }
}

Model read_model(JsonFields& fields) {
  DecoderShape shape;
  shape.name = fields.text("name");
  shape.width = fields.whole("width", 1, 10'000'000);
  shape.heads = fields.whole("heads", 1, 1'000'000);
  shape.sequence = fields.whole("sequence", 1, 100'000'000);
  shape.vocabulary = fields.whole("vocabulary", 1, 100'000'000);
  shape.flash = fields.flag("flash");
  Model model{shape.name, shape.width, shape.heads, shape.sequence, shape.vocabulary, shape.flash, {}};
  if (fields.has("units")) {
    read_units(fields, model);
    if (model.units.empty()) fields.refuse("\"units\" is empty; expected at least one unit");
  } else {
    shape.layers = fields.whole("layers", 1, kMostUnits);
    shape.tied = fields.flag("tied");
    model = decoder(shape);
  }
  fields.end();
  return model;
}

void read_limiter(JsonFields& fields, Limiter& limiter) {
  limiter.kind = static_cast<Limiter::Kind>(fields.one_of("limiter", kLimiterNames, 0));
  const bool counts = limiter.kind == Limiter::Kind::block || limiter.kind == Limiter::Kind::sliding;
  if (counts) limiter.gathers = fields.whole("gathers", 1, 10'000);
}

Job read_job(JsonFields& fields) {
  Job job;
  job.strategy = static_cast<Strategy>(fields.one_of("strategy", kStrategyNames));
  if (has_groups(job.strategy)) job.shard = fields.whole("shard", 1, kMostNodes);
  job.parts.stages = fields.whole("stages", 1, kMostParts, 1);
  job.parts.tensor = fields.whole("tensor", 1, kMostParts, 1);
  job.parts.interleave = fields.whole("interleave", 1, kMostParts, 1);
  job.micro_batches = fields.whole("times", 1, kMostCount, 1);
  job.recompute = static_cast<Recompute>(fields.one_of("recompute", kRecomputeNames, 0));
  job.prefetch = fields.is("prefetch", "all") ? kEverything : fields.whole("prefetch", 0, kEverything, 1);
  read_limiter(fields, job.limiter);
  job.speed = fields.number("speed", 0.01, 100, 1);
  return job;
}

Row read_row(JsonFields& fields, size_t number) {
  Row row;
  row.place = fmt::format("rows[{}]", number);
  row.model = fields.text("model");
  row.nodes = fields.whole("nodes", 1, kMostNodes);
  row.job = read_job(fields);
  row.micro_batch = fields.is("batch", "largest") ? 0 : fields.whole("batch", 1, kMostCount);
  row.job.micro_batch = std::max(row.micro_batch, 1);
  row.published = fields.number("published", 1e-9, 1e15);
  row.measure = static_cast<Measure>(fields.one_of("measure", kMeasureNames));
  row.above = fields.flag("above");
  row.fitted = fields.flag("fitted");
  fields.end();
  return row;
}

Question read_question(JsonFields& fields) {
  Question question{fields.text("model"), fields.whole("nodes", 1, kMostNodes),
                    fields.whole("batch", 1, kMostCount, 0)};
  fields.end();
  return question;
}

void check_models(const ModelsFile& file, JsonFields& all) {
  std::set<std::string> names;
  const auto check = [&](const std::string& model, const std::string& where) {
    if (!names.contains(model))
      all.refuse(
          fmt::format("{}: unknown model \"{}\"; expected one of {}", where, model, fmt::join(names, ", ")));
  };
  for (const Model& model : file.models)
    if (!names.insert(model.name).second) all.refuse(fmt::format("there are two models \"{}\"", model.name));
  if (names.empty()) all.refuse("there are no models; expected at least one");
  for (const Row& row : file.rows) check(row.model, row.place);
  for (const Question& question : file.questions) check(question.model, "plans");
}

void check_fitted(const ModelsFile& file, JsonFields& all) {
  size_t fitted = 0;
  for (const Constant& constant : file.constants) fitted += constant.origin == "fitted" ? 1 : 0;
  std::set<double> speeds;
  for (const Row& row : file.rows) speeds.insert(row.job.speed);
  fitted += speeds.size() - speeds.count(1);
  if (fitted > kMostFitted)
    all.refuse(fmt::format("{} constants are fitted; expected at most {}", fitted, kMostFitted));
}

ModelsFile read_all(JsonFields& all) {
  ModelsFile file;
  file.cluster.title = all.text("title");
  all.texts("sources");
  all.texts("notes");
  file.topology = all.texts("topology");
  file.latencies = all.text("latency", "");
  read_device(all.object("device"), file.cluster);
  read_bytes(all.object("bytes"), file.cluster.precision);
  JsonFields constants = all.object("constants");
  for (const std::string& name : constants.others())
    file.constants.push_back({name, std::string(kOriginNames[constants.one_of(name.c_str(), kOriginNames)])});
  for (JsonFields& each : all.objects("models")) file.models.push_back(read_model(each));
  for (JsonFields& each : all.objects("rows")) file.rows.push_back(read_row(each, file.rows.size()));
  for (JsonFields& each : all.objects("plans")) file.questions.push_back(read_question(each));
  all.end();
  check_models(file, all);
  check_fitted(file, all);
  return file;
}

}  // namespace

std::string_view name(Measure measure) { return kMeasureNames[static_cast<size_t>(measure)]; }

const Model* ModelsFile::model(std::string_view wanted) const {
  for (const Model& model : models)
    if (model.name == wanted) return &model;
  return nullptr;
}

Status ModelsFile::link() {
  if (topology.empty())
    return {Code::invalid_argument,
            "no topology; expected --topology, or the field \"topology\" of the models file"};
  auto links = Links::read(topology, latencies);
  WEIR_TRY(links.status());
  cluster.links = std::move(*links);
  cluster.nodes = cluster.links->hosts();
  cluster.gpus = cluster.links->ranks_per_host();
  return {};
}

Result<ModelsFile> parse_models_file(std::string_view name, std::string_view text) {
  nlohmann::json value;
  try {
    value = nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    return Status(Code::invalid_argument, fmt::format("{}: is not JSON: {}", name, error.what()));
  }
  Status error;
  JsonFields all(value, std::string(name), error);
  ModelsFile file = read_all(all);
  WEIR_TRY(std::move(error));
  return file;
}

Result<ModelsFile> read_models_file(const std::string& path) {
  std::error_code none;
  std::ifstream stream;
  if (!std::filesystem::is_directory(path, none)) stream.open(path, std::ios::binary);
  std::string text;
  if (stream.is_open()) text.assign(std::istreambuf_iterator<char>(stream), {});
  if (!stream.is_open() || stream.bad())
    return Status(Code::invalid_argument, fmt::format("{}: cannot be read; expected a models file", path));
  if (text.size() > kMostBytes)
    return Status(Code::invalid_argument,
                  fmt::format("{}: has {} bytes; expected at most {}", path, text.size(), kMostBytes));
  auto file = parse_models_file(path, text);
  WEIR_TRY(file.status());
  for (std::string& source : file->topology) {
    const auto beside = std::filesystem::path(path).parent_path() / source;
    if (std::filesystem::exists(beside, none)) source = beside.string();
  }
  return file;
}

}  // namespace weir::trainer::plan
