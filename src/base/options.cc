// SPDX-License-Identifier: Apache-2.0

#include "src/base/options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include "src/base/nccl_variables.h"
#include "src/base/spelling.h"
#include "src/base/text.h"

namespace weir {
namespace {

constexpr double kBig = 1e15;

constexpr std::array kTable = {
    OptionRow{"NCCL_DEBUG", &LogSettings::level, "", 0, 0, "what is printed: VERSION, WARN, INFO or TRACE"},
    OptionRow{"NCCL_DEBUG_SUBSYS", &LogSettings::subsystems, "", 0, 0,
              "subsystems of INFO and TRACE: INIT,NET,... or ALL; ^ first means all but these"},
    OptionRow{"NCCL_DEBUG_FILE", &LogSettings::file, "", 0, 0,
              "file for the log instead of stdout; %h is the host, %p the process"},
    OptionRow{"NCCL_DEBUG_TIMESTAMP_FORMAT", &LogSettings::timestamp_format, "", 0, 0,
              "strftime format of times in the log; %3f gives milliseconds"},
    OptionRow{"NCCL_DEBUG_TIMESTAMP_LEVELS", &LogSettings::timestamp_levels, "", 0, 0,
              "levels whose lines begin with the time (default WARN)"},
    OptionRow{"NCCL_SOCKET_IFNAME", &Options::socket_ifname, "", 0, 0,
              "network interfaces to use: prefixes; ^ first excludes, = first means exact names"},
    OptionRow{"NCCL_SOCKET_FAMILY", &Options::socket_family, "", 0, 0, "AF_INET or AF_INET6"},
    OptionRow{"WEIR_PORTS", &Options::ports, "", 0, 0,
              "ports to listen at: one, or the first and the last like 50000-50100; unset is any"},
    OptionRow{"NCCL_COMM_ID", &Options::comm_id, "", 0, 0, "host:port where rank 0 gathers the ranks"},
    OptionRow{"NCCL_HOSTID", &Options::host_id, "", 0, 0,
              "identity of this host; ranks share memory only where it is equal"},
    OptionRow{"NCCL_COMM_BLOCKING", &Options::comm_blocking, "", -1, 1,
              "1 or 0 overrides what programs configure per communicator; -1 does not"},
    OptionRow{"WEIR_INIT_TIMEOUT", &Options::init_timeout_s, "s", 0.1, kBig,
              "how long to wait for ranks that have not joined, and for a channel that does not open"},
    OptionRow{"NCCL_TOPO_FILE", &Options::topology_file, "", 0, 0,
              "file that says what each host is made of, instead of looking: NCCL's XML, hwloc's, ..."},
    OptionRow{"NCCL_TOPO_DUMP_FILE", &Options::topology_dump_file, "", 0, 0,
              "file to write this host's topology to, as NCCL's XML"},
    OptionRow{"NCCL_TOPO_DUMP_FILE_RANK", &Options::topology_dump_rank, "", 0, 1e9,
              "the rank that writes it, and its host"},
    OptionRow{"WEIR_FABRIC_FILE", &Options::fabric_file, "", 0, 0,
              "file that says how the network is cabled; rank 0 reads it"},
    OptionRow{"WEIR_SUBNET", &Options::subnet, "", 0, 1,
              "0: rank 0's host does not ask the InfiniBand subnet, even if it may"},
    OptionRow{"WEIR_TRANSPORTS", &Options::transports, "", 0, 0,
              "transports that may be used, in order of preference"},
    OptionRow{"NCCL_NET_PLUGIN", &Options::net_plugins, "", 0, 0,
              "net plugins of NCCL, files or names; the first that works is taken; none: no plugin"},
    OptionRow{"NCCL_NET", &Options::network, "", 0, 0,
              "network to use: the name that a net plugin has, or IB (verbs) or Socket (tcp)"},
    OptionRow{"NCCL_SHM_DISABLE", &Options::shm_disable, "", 0, 1, "1: no shared memory between processes"},
    OptionRow{"NCCL_NSOCKS_PERTHREAD", &Options::sockets_per_channel, "", 0, 64,
              "TCP connections per channel; 0 is automatic"},
    OptionRow{"WEIR_CREDIT", &Options::credit_bytes, "bytes", -1, 1 << 30,
              "what peers may have under way to this host over TCP; -1: by the speed of the network, from "
              "other hosts only; 0: no limit"},
    OptionRow{
        "WEIR_PACE", &Options::pace_share, "", 0, 100,
        "channels between hosts keep to so much of their fair share of the network, such as 0.95; 0: no "
        "pace"},
    OptionRow{"WEIR_PATH_TIMEOUT", &Options::path_timeout_s, "s", 0.05, kBig,
              "a path between two hosts that does not answer for so long while another does is given up"},
    OptionRow{"WEIR_SPREAD_PATHS", &Options::spreads_paths, "", 0, 1,
              "1: connections over TCP look for the least used of equal paths through the fabric"},
    OptionRow{"NCCL_IB_DISABLE", &Options::ib_disable, "", 0, 1, "1: no RDMA devices"},
    OptionRow{
        "NCCL_IB_HCA", &Options::ib_hca, "", 0, 0,
        "RDMA ports to use: prefixes of names, with :port; ^ first excludes, = first means exact names"},
    OptionRow{"NCCL_IB_GID_INDEX", &Options::ib_gid_index, "", -1, 255,
              "address of RDMA ports by its index; -1 is automatic"},
    OptionRow{"NCCL_IB_ROCE_VERSION_NUM", &Options::ib_roce_version, "", 1, 2,
              "RoCE version of that address"},
    OptionRow{"NCCL_IB_ADDR_FAMILY", &Options::ib_addr_family, "", 0, 0,
              "AF_INET or AF_INET6: family of that address; unset is IPv4 before IPv6"},
    OptionRow{"NCCL_IB_ADDR_RANGE", &Options::ib_addr_range, "", 0, 0,
              "network of that address, like 10.0.0.0/8"},
    OptionRow{"NCCL_IB_TC", &Options::ib_traffic_class, "", 0, 255, "traffic class of RDMA packets"},
    OptionRow{"NCCL_IB_SL", &Options::ib_service_level, "", 0, 15, "service level of RDMA packets"},
    OptionRow{"NCCL_IB_PKEY", &Options::ib_pkey, "", 0, 65535, "index of the partition key of RDMA ports"},
    OptionRow{"NCCL_IB_TIMEOUT", &Options::ib_timeout, "", 1, 31,
              "an RDMA packet without an answer is sent again after 4.096 us * 2^this"},
    OptionRow{"NCCL_IB_RETRY_CNT", &Options::ib_retry_count, "", 0, 7,
              "how often, before the connection counts as broken"},
    OptionRow{"NCCL_IB_QPS_PER_CONNECTION", &Options::ib_qps_per_connection, "", 1, 16,
              "queue pairs per channel and RDMA port"},
    OptionRow{"NCCL_IB_SPLIT_DATA_ON_QPS", &Options::ib_split_data, "", 0, 1,
              "1: each message is split over all queue pairs; 0: they take turns"},
    OptionRow{"WEIR_SLOTS", &Options::slots, "", 2, 64, "messages that a channel holds"},
    OptionRow{
        "WEIR_SLOT_BYTES", &Options::slot_bytes, "bytes", 256, 64 << 20,
        "most bytes of a message of a channel; 0: 64 KiB where all ranks are on one host and in sends and "
        "receives, else 256 KiB"},
    OptionRow{"WEIR_EXCHANGE_AREA_BYTES", &Options::exchange_area_bytes, "bytes", 0, 1 << 30,
              "memory per rank through which the fast paths exchange data"},
    OptionRow{
        "WEIR_GPU_PATH", &Options::gpu_path, "", 0, 0,
        "how collectives on GPUs go: kernel (they wait for each other on the GPUs), stream (as copies and "
        "short kernels, for processes that share a GPU), staged (through pinned memory), or auto"},
    OptionRow{
        "NCCL_NET_GDR_LEVEL", &Options::gdr_level, "", 0, 0,
        "how far from a GPU an adapter may be that writes and reads its memory: LOC (not at all), PIX, PXB "
        "(where it is not set), PHB or SYS, or 0 to 4"},
    OptionRow{"NCCL_NET_GDR_READ", &Options::gdr_read, "", 0, 1,
              "0: adapters write memory of GPUs, but do not read it"},
    OptionRow{"WEIR_GPU_KERNELS", &Options::gpu_kernels, "", 0, 0,
              "file with the kernels; unset is libweir_cuda.so or libweir_hip.so beside this library"},
    OptionRow{"NCCL_MULTI_RANK_GPU_ENABLE", &Options::shares_gpu, "", 0, 1,
              "0: a communicator with another rank on this rank's GPU is refused"},
    OptionRow{"WEIR_GPU_SEGMENT_BYTES", &Options::gpu_segment_bytes, "bytes", 0, 1 << 30,
              "memory of its GPU that each rank of a communicator gives to kernels; the smallest counts"},
    OptionRow{"NCCL_TUNER_PLUGIN", &Options::tuner_plugin, "", 0, 0,
              "tuner plugin of NCCL that has a say in algorithms, a file or a name; none: no plugin"},
    OptionRow{"WEIR_ALGO", &Options::algorithm, "", 0, 0,
              "the algorithm to use wherever it can; empty is automatic"},
    OptionRow{
        "NCCL_ALGO", &Options::nccl_algorithms, "", 0, 0,
        "algorithms that may be used: ring,tree or ^tree, for all or by collective (allreduce:ring;...)"},
    OptionRow{
        "NCCL_PROTO", &Options::nccl_protocols, "", 0, 0,
        "protocols that may be used: LL,LL128,Simple or ^LL, lists as above; without LL and LL128 no fast "
        "paths"},
    OptionRow{
        "NCCL_GRAPH_FILE", &Options::graph_file, "", 0, 0,
        "graph file of NCCL: plans take the ranks of a host in the order of its rings; rank 0 reads it"},
    OptionRow{"NCCL_MIN_NCHANNELS", &Options::least_rings, "", 1, 64,
              "rings that plans run side by side at least: those that there are are repeated"},
    OptionRow{"NCCL_MAX_NCHANNELS", &Options::most_rings, "", 1, 64,
              "rings that plans run side by side at most: the first of them"},
    OptionRow{"WEIR_CALIBRATION", &Options::calibration, "", 0, 1,
              "0: what channels cost is not measured, nor looked up, but taken as transports state it"},
    OptionRow{"WEIR_CACHE_DIR", &Options::cache_dir, "", 0, 0,
              "folder of what was measured; unset is $XDG_CACHE_HOME/weir or ~/.cache/weir"},
    OptionRow{"WEIR_COST_FILE", &Options::cost_file, "", 0, 0,
              "file of what channels and sums cost, before all that is measured; rank 0 reads it"},
    OptionRow{"WEIR_FAST", &Options::fast_paths, "", 0, 1,
              "0: no fast paths, every call interprets its plan"},
    OptionRow{"WEIR_CHECK", &Options::check, "", 0, 1, "0: ranks do not compare their calls"},
    OptionRow{"NCCL_CHECK_POINTERS", &Options::check_pointers, "", 0, 1,
              "1: each call looks whether its buffers are memory of this process; not where it uses GPUs"},
    OptionRow{"WEIR_ADMIT_BYTES", &Options::admitted_bytes, "bytes", 0, kBig,
              "bytes of operations that a communicator's streams hold; a call that would exceed it waits; 0 "
              "is any"},
    OptionRow{"WEIR_ADMIT_OPERATIONS", &Options::admitted_operations, "", 0, 1e9,
              "operations that they hold; 0 is any"},
    OptionRow{"WEIR_ADMIT_FLUSH", &Options::admission_flushes, "", 0, 1,
              "1: a call that has to wait does so until nothing is held, instead of for the oldest only"},
    OptionRow{"WEIR_SPIN", &Options::spins, "", -1, 1e9,
              "looks before a waiting rank yields its core; -1 is automatic"},
    OptionRow{"WEIR_YIELD", &Options::yields, "", -1, 1e9,
              "looks, the core yielded between them, before a waiting rank sleeps; -1 is automatic"},
    OptionRow{"WEIR_PEER_TIMEOUT", &Options::peer_timeout_s, "s", 0.1, kBig,
              "after how long a lost or stopped process is given up"},
    OptionRow{"WEIR_STUCK_TIMEOUT", &Options::stuck_timeout_s, "s", 0, kBig,
              "after how long a rank that runs but does not make its call is given up; 0 is never"},
    OptionRow{"WEIR_DEADLOCK_TIMEOUT", &Options::deadlock_timeout_s, "s", 0, kBig,
              "after how long ranks that all wait for each other are given up; 0 is never"},
    OptionRow{"WEIR_STUCK_WARNING", &Options::stuck_warning_s, "s", 0, kBig,
              "after how long in which nothing moves a warning says whom that is due to; 0 is never"},
    OptionRow{"WEIR_RECORDER", &Options::recorded, "", 0, 1 << 20,
              "operations of each communicator that its flight recorder remembers; 0 records nothing"},
    OptionRow{
        "WEIR_DUMP_FILE", &Options::dump_file, "", 0, 0,
        "file for what the process was doing when a communicator failed; %h is the host, %p the process"},
    OptionRow{"WEIR_DUMP_SIGNAL", &Options::dump_signal, "", 0, 64,
              "number of a signal that makes the process write that file, too; 0 is none"},
    OptionRow{"NCCL_RAS_ENABLE", &Options::ras, "", 0, 1,
              "answers ncclras, and what else speaks its protocol, with what the job is doing"},
    OptionRow{"NCCL_RAS_ADDR", &Options::ras_address, "", 0, 0, "address and port where it answers"},
    OptionRow{"NCCL_RAS_TIMEOUT_FACTOR", &Options::ras_patience, "", 0, 1000,
              "factor for how long it waits for the answers of other processes"},
    OptionRow{"NCCL_PROFILER_PLUGIN", &Options::profiler_plugin, "", 0, 0,
              "profiler plugin of NCCL that is told of operations, a file or a name; none: no plugin"},
    OptionRow{"WEIR_NCCL_VERSION", &Options::nccl_version, "", 10000, 99999,
              "version that ncclGetVersion reports"},
};
static_assert(kTable.size() <= 80);

/// Whole numbers as C reads them (0x.. and 0.. included), with K, M or G behind sizes.
std::optional<int64_t> read_integer(const std::string& text, bool size) {
  char* end = nullptr;
  errno = 0;
  const int64_t number = std::strtoll(text.c_str(), &end, 0);
  if (end == text.c_str() || errno != 0) return std::nullopt;
  if (*end == '\0') return number;
  const size_t unit =
      std::string_view("KMG").find(static_cast<char>(std::toupper(static_cast<unsigned char>(*end))));
  if (!size || unit == std::string_view::npos || end[1] != '\0' || std::abs(number) > (int64_t{1} << 32)) {
    return std::nullopt;
  }
  return number << (10 * (unit + 1));
}

bool in_range(const OptionRow& row, double number) { return number >= row.least && number <= row.most; }

/// The default of a number beside its range: it says that the number is found otherwise.
std::optional<int64_t> automatic(const OptionRow& row) {
  const auto* member = std::get_if<int64_t Options::*>(&row.member);
  if (member == nullptr) return std::nullopt;
  const int64_t value = Options().*(*member);
  return in_range(row, static_cast<double>(value)) ? std::nullopt : std::optional(value);
}

std::string expectation(const OptionRow& row) {
  if (std::holds_alternative<bool Options::*>(row.member)) return "0 or 1";
  std::string most = row.most >= kBig ? " or more" : fmt::format(" to {:.0f}", row.most);
  if (const auto other = automatic(row)) most += fmt::format(", or {}", *other);
  const bool whole = !std::holds_alternative<double Options::*>(row.member);
  const std::string_view unit = row.unit == "s"       ? "seconds, "
                                : row.unit == "bytes" ? "bytes, "
                                : whole               ? "a whole number, "
                                                      : "a number, ";
  return fmt::format("{}{:g}{}", unit, row.least, most);
}

/// Stores `text` in the row's member; false: the text is no such value.
bool store(Options& options, const OptionRow& row, const std::string& text) {
  if (const auto* member = std::get_if<std::string Options::*>(&row.member)) {
    options.*(*member) = text;
    return true;
  }
  if (const auto* member = std::get_if<std::string LogSettings::*>(&row.member)) {
    options.log.*(*member) = text;
    return true;
  }
  if (const auto* member = std::get_if<double Options::*>(&row.member)) {
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !in_range(row, number)) return false;
    options.*(*member) = number;
    return true;
  }
  const auto number = read_integer(text, row.unit == "bytes");
  if (!number || !(in_range(row, static_cast<double>(*number)) || number == automatic(row))) return false;
  if (const auto* member = std::get_if<int64_t Options::*>(&row.member)) {
    options.*(*member) = *number;
  } else {
    options.*std::get<bool Options::*>(row.member) = *number != 0;
  }
  return true;
}

const OptionRow* find_row(std::string_view name) {
  for (const OptionRow& row : kTable) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

/// NCCL_CONF_FILE says where to look and belongs to the launch of programs; these never reach the table.
bool is_known_elsewhere(std::string_view name) { return name == "NCCL_CONF_FILE"; }

bool is_ours(std::string_view name) { return name.starts_with("WEIR_"); }

/// Of a name that is no option: a warning where it is probably misspelt. NCCL has more variables than it
/// documents, so others of its names may be meant for it.
Options::Note note_on_unknown(const std::string& name, const Options::Value& value) {
  using Kind = Options::Note::Kind;
  if (std::ranges::find(kNcclVariables, name) != std::end(kNcclVariables))
    return {Kind::info,
            fmt::format("{} set by {} to {} has no effect in weir", name, value.origin, value.text)};
  Nearest nearest(name);
  for (const OptionRow& row : kTable) nearest.consider(row.name);
  if (!is_ours(name))
    for (const std::string_view variable : kNcclVariables) nearest.consider(variable);
  const std::string meant = nearest.found().empty() ? "" : fmt::format("; did you mean {}?", nearest.found());
  if (is_ours(name))
    return {Kind::warning,
            fmt::format("{} is set by {}, but weir has no such option{}", name, value.origin, meant)};
  return {meant.empty() ? Kind::info : Kind::warning,
          fmt::format("{} set by {} to {} has no effect in weir, and NCCL does not document it{}", name,
                      value.origin, value.text, meant)};
}

/// Relative paths do not count, says the XDG base directory specification.
std::string absolute(const char* folder, const char* below) {
  return folder != nullptr && folder[0] == '/' ? std::string(folder) + below : std::string();
}

std::string user_cache() {
  std::string folder = absolute(std::getenv("XDG_CACHE_HOME"), "/weir");
  return folder.empty() ? absolute(std::getenv("HOME"), "/.cache/weir") : folder;
}

/// False: there is none that can be read.
bool read_conf_file(const std::string& path, std::map<std::string, Options::Value>& values) {
  std::ifstream file(path);
  if (!file) return false;
  std::ostringstream text;
  text << file.rdbuf();
  read_conf_text(text.str(), path, values);
  return true;
}

}  // namespace

std::span<const OptionRow> option_table() { return kTable; }

std::string_view type_name(const OptionRow& row) {
  if (std::holds_alternative<bool Options::*>(row.member)) return "0 or 1";
  if (std::holds_alternative<int64_t Options::*>(row.member)) return "integer";
  if (std::holds_alternative<double Options::*>(row.member)) return "number";
  return "text";
}

std::string value_text(const Options& options, const OptionRow& row) {
  return std::visit(
      [&](auto member) -> std::string {
        if constexpr (std::is_same_v<decltype(member), std::string LogSettings::*>) {
          return options.log.*member;
        } else if constexpr (std::is_same_v<decltype(member), bool Options::*>) {
          return options.*member ? "1" : "0";
        } else {
          return fmt::format("{}", options.*member);
        }
      },
      row.member);
}

Options Options::from(const std::map<std::string, Value>& values) {
  Options options;
  for (const auto& [name, value] : values) {
    if (!(is_ours(name) || name.starts_with("NCCL_")) || is_known_elsewhere(name)) continue;
    const OptionRow* row = find_row(name);
    if (row == nullptr) {
      options.notes.push_back(note_on_unknown(name, value));
    } else if (store(options, *row, value.text)) {
      options.notes.push_back(
          {Note::Kind::info, fmt::format("{} set by {} to {}", name, value.origin, value.text)});
    } else {
      options.notes.push_back(
          {Note::Kind::warning,
           fmt::format("{}={} (from {}) is not a valid value; expected {}; {} is used", name, value.text,
                       value.origin, expectation(*row), value_text(options, *row))});
    }
  }
  return options;
}

Options Options::from_environment() {
  std::map<std::string, Value> values;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos || !(text.starts_with("NCCL_") || text.starts_with("WEIR_")))
      continue;
    values.try_emplace(std::string(text.substr(0, equals)),
                       Value{std::string(text.substr(equals + 1)), "the environment"});
  }
  const char* const user_folder = std::getenv("HOME");
  std::string unread;  // a file that was asked for
  if (const auto conf = values.find("NCCL_CONF_FILE"); conf != values.end()) {
    const std::string path = conf->second.text;
    if (!read_conf_file(path, values)) unread = path;
  } else if (user_folder != nullptr) {
    read_conf_file(std::string(user_folder) + "/.nccl.conf", values);
  }
  read_conf_file("/etc/nccl.conf", values);
  Options options = from(values);
  if (!unread.empty())
    options.notes.push_back({Note::Kind::warning, fmt::format("NCCL_CONF_FILE={} cannot be read", unread)});
  if (options.cache_dir.empty()) options.cache_dir = user_cache();
  return options;
}

void log_notes(const Options& options) {
  for (const Options::Note& note : options.notes) {
    if (note.kind == Options::Note::Kind::warning) {
      WEIR_WARN("{}", note.text);
    } else {
      WEIR_INFO(env, "{}", note.text);
    }
  }
}

void read_conf_text(std::string_view text, const std::string& origin,
                    std::map<std::string, Options::Value>& values) {
  constexpr size_t kMost = 1023;
  for (std::string_view line : split_list(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const size_t equals = line.find('=');
    if (line.starts_with('#') || equals == std::string_view::npos || equals == 0) continue;
    if (equals > kMost || line.size() - equals - 1 > kMost) continue;
    values.try_emplace(std::string(line.substr(0, equals)),
                       Options::Value{std::string(line.substr(equals + 1)), origin});
  }
}

}  // namespace weir
