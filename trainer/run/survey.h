// SPDX-License-Identifier: Apache-2.0
/// The properties of the ranks of this job that planning needs: measured in a second or two, and equal on all
/// ranks.
#pragma once

#include "trainer/model/model.h"
#include "trainer/plan/cluster.h"
#include "trainer/plan/model.h"
#include "trainer/run/settings.h"
#include "trainer/run/transfer_survey.h"
#include "trainer/run/world.h"

namespace weir::trainer {

/// The model as input of the step-time model.
plan::Model plan_model(const Model& model);

struct Survey {
  plan::Cluster cluster;
  double width = 0;       ///< of the model with which it was measured
  MeasuredLinks inside;   ///< between ranks of one host; zeros if all hosts have one rank
  MeasuredLinks between;  ///< in a ring over all hosts; zeros if there is one host
};

/// The world as a cluster of hosts (groups.h) with equal numbers of ranks; if the numbers are unequal, as
/// hosts of one rank. What computing takes: computing_survey.h. Rates and latencies are measured on
/// all-gathers of a block's parameters, between GPUs if ranks compute on them, alone
/// and beside computing; the slowest rank counts. The
/// cluster's links are a topology with these figures. Memory is Settings::memory, or else four fifths of the
/// free memory per rank on the host or GPU that has least. Collective.
Result<Survey> survey(const World& world, const Settings& settings, const Model& model, Ops& ops);

}  // namespace weir::trainer
