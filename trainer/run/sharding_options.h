// SPDX-License-Identifier: Apache-2.0
/// The options of weir-train that say how a model is divided among ranks, and what travels between them.
///
/// Not thread-safe.
#pragma once

namespace CLI {
class App;
}  // namespace CLI

namespace weir::trainer {

struct Settings;

/// Binds them to `settings`, which outlives `app`.
void add_sharding_options(CLI::App& app, Settings& settings);

}  // namespace weir::trainer
