// SPDX-License-Identifier: Apache-2.0
/// Every option of weir, in one table: its name in the environment, type, default, unit and meaning.
///
/// Options is a plain struct of values; no code below src/api reads the environment.
/// Tests: tests/base/options_test.cc
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/base/log.h"

namespace weir {

/// What gives the values of variables instead of the environment.
struct EnvironmentPlugin {
  std::string name;  ///< for the log: "env plugin example"
  /// The value of a variable; nullopt: it is not set.
  std::function<std::optional<std::string>(const std::string& variable)> value;
};

struct Options {
  // Logging
  LogSettings log;
  // Bootstrap
  std::string socket_ifname;
  std::string socket_family;
  std::string ports;
  std::string advertised;
  std::string comm_id;
  std::string secret_file;
  std::string host_id;
  int64_t comm_blocking = -1;
  double init_timeout_s = 60;
  // Encryption
  std::string tls;
  std::string tls_certificate;
  std::string tls_key;
  std::string tls_authority;
  // Topology
  std::string topology_file;
  std::string topology_dump_file;
  int64_t topology_dump_rank = 0;
  std::string fabric_file;
  bool subnet = true;
  std::string pretended;
  // Transports
  std::string transports = "loop,shm,cma,net_plugin,verbs,tcp";
  std::string net_plugins;
  std::string network;
  bool shm_disable = false;
  int64_t sockets_per_channel = 0;
  int64_t credit_bytes = -1;
  double pace_share = 0;
  double path_timeout_s = 1;
  bool spreads_paths = false;
  bool ib_disable = false;
  std::string ib_hca;
  int64_t ib_gid_index = -1;
  int64_t ib_roce_version = 2;
  std::string ib_addr_family;
  std::string ib_addr_range;
  int64_t ib_traffic_class = 0;
  int64_t ib_service_level = 0;
  int64_t ib_pkey = 0;
  int64_t ib_timeout = 20;
  int64_t ib_retry_count = 7;
  int64_t ib_qps_per_connection = 1;
  bool ib_split_data = false;
  int64_t slots = 4;
  int64_t slot_bytes = 0;
  int64_t exchange_area_bytes = 2 * 1024 * 1024;
  // GPUs
  std::string gpu_path = "auto";
  std::string gdr_level;
  bool gdr_read = true;
  std::string gpu_kernels;
  bool shares_gpu = true;
  int64_t gpu_segment_bytes = 7 * 1024 * 1024;
  // Plans
  std::string tuner_plugin;
  std::string algorithm;
  std::string nccl_algorithms;
  std::string nccl_protocols;
  std::string graph_file;
  std::string plan_file;
  std::string order = "run";
  int64_t least_rings = 1;
  int64_t most_rings = 64;
  bool calibration = true;
  std::string cache_dir;
  std::string cost_file;
  bool fast_paths = true;
  bool check = true;
  bool check_pointers = false;
  int64_t check_values = 0;
  int64_t admitted_bytes = 0;
  int64_t admitted_operations = 0;
  bool admission_flushes = false;
  int64_t spins = -1;
  int64_t yields = -1;
  // Failures
  double peer_timeout_s = 30;
  double stuck_timeout_s = 1800;
  double deadlock_timeout_s = 30;
  double stuck_warning_s = 30;
  std::string profiler_plugin;
  int64_t recorded = 128;
  std::string dump_file;
  int64_t dump_signal = 0;
  std::string reports = "user";
  bool ras = true;
  std::string ras_address = "localhost:28028";
  double ras_timeout_factor = 1;
  // Reported version
  int64_t nccl_version = 23203;

  /// Sentences about the values that were found: set options, invalid values (the default is kept), NCCL
  /// variables that have no effect in weir, and unknown names.
  struct Note {
    enum class Kind : uint8_t { info, warning };
    Kind kind;
    std::string text;
  };
  std::vector<Note> notes;

  /// Reads the environment, then NCCL_CONF_FILE (or ~/.nccl.conf), then /etc/nccl.conf; the first value found
  /// is used. cache_dir defaults to the user's cache folder. REQUIRES: no thread changes the environment
  /// meanwhile.
  /// With a plugin, the values of the environment are those that it gives.
  static Options from_environment(const EnvironmentPlugin* plugin = nullptr);
  /// A value of an option before it is parsed.
  struct Value {
    std::string text;
    std::string origin;  ///< "the environment", or a file name
  };
  static Options from(const std::map<std::string, Value>& values);
};

/// Writes the notes to the log: invalid values and probable misspellings as WARN, the rest as INFO of
/// subsystem ENV. Configure the log first.
void log_notes(const Options& options);

/// One row of the table.
struct OptionRow {
  using Member = std::variant<std::string Options::*, std::string LogSettings::*, int64_t Options::*,
                              bool Options::*, double Options::*>;
  std::string_view name;
  Member member;
  std::string_view unit;  ///< unit of the value: "", "bytes" or "s"
  double least;           ///< smallest allowed number
  double most;
  std::string_view help;
};
std::span<const OptionRow> option_table();
/// "text", "integer", "number" or "0 or 1".
std::string_view type_name(const OptionRow& row);
/// The value in the notation of the environment; empty when unset.
std::string value_text(const Options& options, const OptionRow& row);

/// Reads KEY=VALUE lines into `values` without replacing existing entries. '#' begins a comment line; only a
/// carriage return at the end of a line is trimmed; lines without '=', or with a key or value longer than
/// 1023 bytes, are skipped.
void read_conf_text(std::string_view text, const std::string& origin,
                    std::map<std::string, Options::Value>& values);

}  // namespace weir
