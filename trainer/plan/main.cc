// weir-train-plan: what weir-train --plan-only does, for clusters that are not at hand.
#include <CLI/CLI.hpp>

#include "trainer/plan/command.h"

int main(int argc, char** argv) {
  CLI::App app("Chooses how to train a model on a cluster and predicts the step");
  weir::trainer::plan::PlanOptions options;
  weir::trainer::plan::add_plan_options(app, options);
  app.get_option("--cluster")->required();
  CLI11_PARSE(app, argc, argv);
  return weir::trainer::plan::plan_only(options);
}
