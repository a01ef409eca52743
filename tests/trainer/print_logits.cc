// SPDX-License-Identifier: Apache-2.0
// Prints the logits of an imported model for the bytes of the standard input, as JSON: print_logits FOLDER.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "trainer/exchange/imported_model.h"
#include "trainer/model/model.h"
#include "trainer/run/array.h"

using namespace weir;
using namespace weir::trainer;

namespace {

Result<Array> array_of(Index floats) { return Array::make(floats, nullptr); }

/// [tokens, vocabulary], row-major.
Result<std::vector<float>> logits_of(const ImportedModel& imported, const std::vector<Token>& tokens) {
  const Model model(imported.config(), Recompute::none);
  CpuOps ops(Precision::fp32);
  Batch batch{.sequences = 1,
              .length = static_cast<Index>(tokens.size()),
              .tokens = tokens.data(),
              .targets = tokens.data()};
  auto tied = array_of(model.tied_floats(batch));
  WEIR_TRY(tied.status());
  batch.tied = model.tied_in(tied->data(), batch);
  auto scratch = array_of(model.scratch_floats(batch)), input = array_of(batch.rows() * model.config().width),
       output = array_of(batch.rows() * model.config().width),
       logits = array_of(batch.rows() * model.config().vocabulary);
  for (const auto* array : {&scratch, &input, &output, &logits}) WEIR_TRY(array->status());
  const Compute compute{ops, scratch->data()};
  for (const auto& unit : model.units()) {
    const ParameterTable& table = unit->parameters();
    auto parameters = array_of(table.size()), saved = array_of(unit->saved_floats(batch));
    for (const auto* array : {&parameters, &saved}) WEIR_TRY(array->status());
    WEIR_TRY(imported.fill(table, 0, table.size(), parameters->data()));
    if (unit == model.units().front() && model.config().tied)
      std::copy_n(parameters->data(), model.table_floats(), tied->data());
    if (unit.get() == &model.head())
      model.head().logits(compute, batch, parameters->data(), input->data(), logits->data());
    else
      unit->forward(compute, batch, parameters->data(), input->data(), output->data(), saved->data());
    std::swap(input, output);
  }
  WEIR_TRY(ops.status());
  return std::vector<float>(logits->data(), logits->data() + logits->size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::vector<uint8_t> bytes(std::istreambuf_iterator<char>(std::cin), {});
  const std::vector<Token> tokens(bytes.begin(), bytes.end());
  const auto imported = ImportedModel::open(argv[1]);
  const auto logits =
      imported.ok() ? logits_of(*imported, tokens) : Result<std::vector<float>>(imported.status());
  if (!logits.ok()) {
    fmt::print(stderr, "{}\n", logits.status().message());
    return 1;
  }
  std::puts(nlohmann::json(*logits).dump().c_str());
  return 0;
}
