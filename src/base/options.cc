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
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "src/base/nccl_variables.h"
#include "src/base/spelling.h"
#include "src/base/text.h"

namespace weir {
namespace {

constexpr double kBig = 1e15;

constexpr std::array kTable = {
    OptionRow{"NCCL_DEBUG", &LogSettings::level, "", 0, 0, "log level: VERSION, WARN, INFO or TRACE"},
    OptionRow{"NCCL_DEBUG_SUBSYS", &LogSettings::subsystems, "", 0, 0,
              "subsystems whose INFO and TRACE lines are logged: INIT,NET,... or ALL; a leading ^ means all "
              "but these"},
    OptionRow{"NCCL_DEBUG_FILE", &LogSettings::file, "", 0, 0,
              "file for the log instead of stdout; %h is replaced by the host name, %p by the process id"},
    OptionRow{"NCCL_DEBUG_TIMESTAMP_FORMAT", &LogSettings::timestamp_format, "", 0, 0,
              "strftime format of the times in the log; %3f gives milliseconds"},
    OptionRow{"NCCL_DEBUG_TIMESTAMP_LEVELS", &LogSettings::timestamp_levels, "", 0, 0,
              "log levels whose lines begin with the time (default WARN)"},
    OptionRow{
        "NCCL_SOCKET_IFNAME", &Options::socket_ifname, "", 0, 0,
        "network interfaces to use, by prefix; a leading ^ excludes them, a leading = means exact names"},
    OptionRow{"NCCL_SOCKET_FAMILY", &Options::socket_family, "", 0, 0,
              "address family of sockets: AF_INET or AF_INET6; empty: either"},
    OptionRow{"WEIR_PORTS", &Options::ports, "", 0, 0,
              "TCP ports to listen on: one port, or a range like 50000-50100; empty: any free port"},
    OptionRow{"WEIR_ADVERTISE", &Options::advertised, "", 0, 0,
              "address at which other hosts reach this process, where it is not that of its interface (NAT, "
              "bridges); with a port: that of the first of WEIR_PORTS; a list: one per interface"},
    OptionRow{"NCCL_COMM_ID", &Options::comm_id, "", 0, 0,
              "host:port of the bootstrap root, where rank 0 listens and all ranks meet"},
    OptionRow{"WEIR_SECRET_FILE", &Options::secret_file, "", 0, 0,
              "file with the secret of the ranks that meet at NCCL_COMM_ID, readable by its owner only"},
    OptionRow{"NCCL_HOSTID", &Options::host_id, "", 0, 0,
              "identity of this host; only ranks with equal identities share memory"},
    OptionRow{
        "NCCL_COMM_BLOCKING", &Options::comm_blocking, "", -1, 1,
        "1 (blocking) or 0 (non-blocking) overrides the configuration of each communicator; -1: no override"},
    OptionRow{"WEIR_INIT_TIMEOUT", &Options::init_timeout_s, "s", 0.1, kBig,
              "time limit in seconds for all ranks to join a communicator, and for a channel to open"},
    OptionRow{"WEIR_TLS", &Options::tls, "", 0, 0,
              "encryption of sockets: off (default), psk (by the job's secret) or cert (by certificates)"},
    OptionRow{"WEIR_TLS_CERT", &Options::tls_certificate, "", 0, 0,
              "PEM file with the certificate of this process, for WEIR_TLS=cert"},
    OptionRow{"WEIR_TLS_KEY", &Options::tls_key, "", 0, 0,
              "PEM file with the private key of WEIR_TLS_CERT, without a password"},
    OptionRow{"WEIR_TLS_CA", &Options::tls_authority, "", 0, 0,
              "PEM file with the authority whose signature makes a process a member of the job"},
    OptionRow{
        "NCCL_TOPO_FILE", &Options::topology_file, "", 0, 0,
        "file with the topology of each host, read instead of detecting it: NCCL's XML, hwloc's XML, ..."},
    OptionRow{"NCCL_TOPO_DUMP_FILE", &Options::topology_dump_file, "", 0, 0,
              "file to write this host's topology to, as NCCL's XML"},
    OptionRow{"NCCL_TOPO_DUMP_FILE_RANK", &Options::topology_dump_rank, "", 0, 1e9,
              "rank that writes NCCL_TOPO_DUMP_FILE, with the topology of its host"},
    OptionRow{"WEIR_FABRIC_FILE", &Options::fabric_file, "", 0, 0,
              "file that describes the switches and links of the network; rank 0 reads it"},
    OptionRow{"WEIR_SUBNET", &Options::subnet, "", 0, 1,
              "0: rank 0 does not discover the InfiniBand subnet, even if it has the permission"},
    OptionRow{
        "WEIR_PRETEND", &Options::pretended, "", 0, 0,
        "topology file of a cluster, or a machine in one line, that this job pretends to run on: its ranks "
        "are on one machine, and calls take the simulated times of that cluster; with @N at the end, N times "
        "these"},
    OptionRow{
        "WEIR_TRANSPORTS", &Options::transports, "", 0, 0,
        "transports that may be used, by name; a pair of ranks takes the first in the list of its lower rank "
        "that both have and that connects them"},
    OptionRow{"NCCL_NET_PLUGIN", &Options::net_plugins, "", 0, 0,
              "NCCL net plugins to try, as files or names; the first that works is used; none: no plugin"},
    OptionRow{"NCCL_NET", &Options::network, "", 0, 0,
              "network to use: the name of a net plugin, IB (verbs) or Socket (tcp)"},
    OptionRow{"NCCL_SHM_DISABLE", &Options::shm_disable, "", 0, 1,
              "1: processes do not communicate through shared memory"},
    OptionRow{"NCCL_NSOCKS_PERTHREAD", &Options::sockets_per_channel, "", 0, 64,
              "TCP connections per channel; 0: automatic"},
    OptionRow{"WEIR_CREDIT", &Options::credit_bytes, "bytes", -1, 1 << 30,
              "receive credit: bytes that peers may have in flight to this process over TCP; -1: from the "
              "network's speed, for peers on other hosts only; 0: no limit"},
    OptionRow{"WEIR_PACE", &Options::pace_share, "", 0, 100,
              "send rate of channels between hosts, as a fraction of their fair share of the network, such "
              "as 0.95; 0: no limit"},
    OptionRow{
        "WEIR_PATH_TIMEOUT", &Options::path_timeout_s, "s", 0.05, kBig,
        "seconds after which a path between two hosts that does not answer, while another path does, is "
        "abandoned"},
    OptionRow{
        "WEIR_SPREAD_PATHS", &Options::spreads_paths, "", 0, 1,
        "1: TCP connections probe for the least used of several equal-cost (ECMP) paths through the fabric"},
    OptionRow{"NCCL_IB_DISABLE", &Options::ib_disable, "", 0, 1, "1: RDMA devices are not used"},
    OptionRow{"NCCL_IB_HCA", &Options::ib_hca, "", 0, 0,
              "RDMA ports to use: prefixes of device names, optionally with :port; a leading ^ excludes "
              "them, a leading = means exact names"},
    OptionRow{"NCCL_IB_GID_INDEX", &Options::ib_gid_index, "", -1, 255,
              "index of the GID (address) that RDMA ports use; -1: automatic"},
    OptionRow{"NCCL_IB_ROCE_VERSION_NUM", &Options::ib_roce_version, "", 1, 2,
              "RoCE version of the GID that RDMA ports use"},
    OptionRow{"NCCL_IB_ADDR_FAMILY", &Options::ib_addr_family, "", 0, 0,
              "address family of the GID that RDMA ports use: AF_INET or AF_INET6; empty: IPv4 if there is "
              "one, else IPv6"},
    OptionRow{"NCCL_IB_ADDR_RANGE", &Options::ib_addr_range, "", 0, 0,
              "network that contains the GID that RDMA ports use, like 10.0.0.0/8"},
    OptionRow{"NCCL_IB_TC", &Options::ib_traffic_class, "", 0, 255, "traffic class of RDMA packets"},
    OptionRow{"NCCL_IB_SL", &Options::ib_service_level, "", 0, 15, "service level of RDMA packets"},
    OptionRow{"NCCL_IB_PKEY", &Options::ib_pkey, "", 0, 65535, "index of the partition key of RDMA ports"},
    OptionRow{"NCCL_IB_TIMEOUT", &Options::ib_timeout, "", 1, 31,
              "RDMA acknowledgement timeout: a packet is retransmitted after 4.096 us * 2^this"},
    OptionRow{"NCCL_IB_RETRY_CNT", &Options::ib_retry_count, "", 0, 7,
              "retransmissions of an RDMA packet before the connection is declared broken"},
    OptionRow{"NCCL_IB_QPS_PER_CONNECTION", &Options::ib_qps_per_connection, "", 1, 16,
              "queue pairs per channel and RDMA port"},
    OptionRow{"NCCL_IB_SPLIT_DATA_ON_QPS", &Options::ib_split_data, "", 0, 1,
              "1: each message is split over all queue pairs of its channel; 0: messages use the queue pairs "
              "round-robin"},
    OptionRow{"WEIR_SLOTS", &Options::slots, "", 2, 64, "slots of a channel: messages that it can hold"},
    OptionRow{
        "WEIR_SLOT_BYTES", &Options::slot_bytes, "bytes", 256, 64 << 20,
        "size of a channel's slots, the largest message that it carries; 0: 256 KiB for plans between hosts, "
        "and 2 such slots for sends between at most 8 ranks, all on one host; else 64 KiB"},
    OptionRow{"WEIR_EXCHANGE_AREA_BYTES", &Options::exchange_area_bytes, "bytes", 0, 1 << 30,
              "shared memory per rank through which the fast paths of one host exchange data"},
    OptionRow{"WEIR_GPU_PATH", &Options::gpu_path, "", 0, 0,
              "how collectives on GPU memory are carried out: kernel (kernels that wait for each other on "
              "the GPUs), stream (copies and short kernels, for processes that share a GPU), staged (through "
              "pinned host memory), or auto"},
    OptionRow{
        "NCCL_NET_GDR_LEVEL", &Options::gdr_level, "", 0, 0,
        "maximum GPU-NIC distance for GPUDirect RDMA: LOC (off), PIX, PXB (default), PHB or SYS, or 0 to 4"},
    OptionRow{"NCCL_NET_GDR_READ", &Options::gdr_read, "", 0, 1,
              "0: NICs write GPU memory directly (GPUDirect RDMA), but do not read it"},
    OptionRow{"WEIR_GPU_KERNELS", &Options::gpu_kernels, "", 0, 0,
              "file with the GPU kernels; empty: libweir_cuda.so or libweir_hip.so beside this library"},
    OptionRow{"NCCL_MULTI_RANK_GPU_ENABLE", &Options::shares_gpu, "", 0, 1,
              "0: a communicator in which two ranks use the same GPU is refused"},
    OptionRow{"WEIR_GPU_SEGMENT_BYTES", &Options::gpu_segment_bytes, "bytes", 0, 1 << 30,
              "GPU memory that each rank of a communicator gives to kernels; the smallest value of all ranks "
              "is used"},
    OptionRow{
        "NCCL_TUNER_PLUGIN", &Options::tuner_plugin, "", 0, 0,
        "NCCL tuner plugin that adjusts the choice of algorithms, as a file or a name; none: no plugin"},
    OptionRow{"WEIR_ALGO", &Options::algorithm, "", 0, 0,
              "algorithm to use for every collective that it implements; empty: automatic"},
    OptionRow{"NCCL_ALGO", &Options::nccl_algorithms, "", 0, 0,
              "algorithms that may be used: ring,tree or ^tree, for all collectives or per collective "
              "(allreduce:ring;...)"},
    OptionRow{"NCCL_PROTO", &Options::nccl_protocols, "", 0, 0,
              "protocols that may be used: LL,LL128,Simple or ^LL, with the syntax of NCCL_ALGO; without LL "
              "and LL128 there are no fast paths"},
    OptionRow{
        "NCCL_GRAPH_FILE", &Options::graph_file, "", 0, 0,
        "NCCL graph file whose rings determine the order of each host's ranks in plans; rank 0 reads it"},
    OptionRow{
        "WEIR_PLAN_FILE", &Options::plan_file, "", 0, 0,
        "plan to run (weir plan --emit, or MSCCL's XML) for the calls that it is made for, or a folder of "
        "plans; rank 0 reads it"},
    OptionRow{
        "WEIR_ORDER", &Options::order, "", 0, 0,
        "order of sums: run (the same in every run of a job), any (the fastest, from measured rates) or "
        "ranks (that of the ranks, for any size, algorithm and distribution over hosts)"},
    OptionRow{"NCCL_MIN_NCHANNELS", &Options::least_rings, "", 1, 64,
              "minimum number of parallel rings, existing ones are duplicated to reach it; and of blocks of "
              "a kernel; NCCL_MIN_CTAS is the same"},
    OptionRow{"NCCL_MAX_NCHANNELS", &Options::most_rings, "", 1, 64,
              "maximum number of parallel rings, only the first ones are used; and of blocks of a kernel; "
              "NCCL_MAX_CTAS is the same"},
    OptionRow{"WEIR_CALIBRATION", &Options::calibration, "", 0, 1,
              "0: the costs of channels are neither measured nor read from the rate cache; the transports' "
              "nominal values are used"},
    OptionRow{"WEIR_CACHE_DIR", &Options::cache_dir, "", 0, 0,
              "folder for measured rates; empty: $XDG_CACHE_HOME/weir or ~/.cache/weir"},
    OptionRow{"WEIR_COST_FILE", &Options::cost_file, "", 0, 0,
              "file with the costs of channels and reductions, which take precedence over measured ones; "
              "rank 0 reads it"},
    OptionRow{"WEIR_FAST", &Options::fast_paths, "", 0, 1,
              "0: no fast paths; every collective runs its plan"},
    OptionRow{"WEIR_CHECK", &Options::check, "", 0, 1, "0: ranks do not check that their calls match"},
    OptionRow{"NCCL_CHECK_POINTERS", &Options::check_pointers, "", 0, 1,
              "1: each call checks that its buffers are mapped memory of this process; has no effect where "
              "GPUs are used"},
    OptionRow{"WEIR_CHECK_VALUES", &Options::check_values, "", 0, 2,
              "the inputs of floating-point collectives on host memory are searched for NaN and infinity: 1: "
              "a warning names the first one; 2: the call is an error on all ranks; 0: off"},
    OptionRow{"WEIR_ADMIT_BYTES", &Options::admitted_bytes, "bytes", 0, kBig,
              "limit on the bytes of a communicator's unfinished operations on streams; a call that would "
              "exceed it waits; 0: no limit"},
    OptionRow{"WEIR_ADMIT_OPERATIONS", &Options::admitted_operations, "", 0, 1e9,
              "limit on the number of a communicator's unfinished operations on streams; a call that would "
              "exceed it waits; 0: no limit"},
    OptionRow{"WEIR_ADMIT_FLUSH", &Options::admission_flushes, "", 0, 1,
              "1: a call that exceeds a limit waits until all earlier operations are done; 0: until the "
              "oldest ones are"},
    OptionRow{
        "WEIR_SPIN", &Options::spins, "", -1, 1e9,
        "polls without sched_yield() before a waiting rank begins to yield its core, fewer on a core that "
        "others compute on; -1: automatic"},
    OptionRow{
        "WEIR_YIELD", &Options::yields, "", -1, 1e9,
        "polls with sched_yield() before a waiting rank blocks, one on a core that others compute on; -1: "
        "automatic"},
    OptionRow{
        "WEIR_PEER_TIMEOUT", &Options::peer_timeout_s, "s", 0.1, kBig,
        "seconds without an answer after which a process is declared lost where nothing else shows whether "
        "it runs; longer while this process itself runs late. A process that its host shows as stopped: a "
        "sixth "
        "of it, at least 2 s; as running: four times as long, on the same host for ever"},
    OptionRow{
        "WEIR_STUCK_TIMEOUT", &Options::stuck_timeout_s, "s", 0, kBig,
        "seconds after which a rank that runs but does not make the call that others wait for is declared "
        "failed; 0: never"},
    OptionRow{"WEIR_DEADLOCK_TIMEOUT", &Options::deadlock_timeout_s, "s", 0, kBig,
              "seconds after which ranks that all wait for each other fail with an error; 0: never"},
    OptionRow{"WEIR_STUCK_WARNING", &Options::stuck_warning_s, "s", 0, kBig,
              "warn after this many seconds without progress, naming the rank that blocks; 0: never"},
    OptionRow{"WEIR_RECORDER", &Options::recorded, "", 0, 1 << 20,
              "number of operations per communicator that the flight recorder keeps; 0: none"},
    OptionRow{"WEIR_DUMP_FILE", &Options::dump_file, "", 0, 0,
              "file for a process report when a communicator fails; %h is replaced by the host name, %p by "
              "the process id"},
    OptionRow{"WEIR_DUMP_SIGNAL", &Options::dump_signal, "", 0, 64,
              "number of a signal on which the process writes WEIR_DUMP_FILE; 0: none"},
    OptionRow{
        "WEIR_REPORTS", &Options::reports, "", 0, 0,
        "who may read the reports of this process (weir ps, RAS clients): user: its user and root, and the "
        "ranks of its jobs; all: everybody who reaches it; off: nobody"},
    OptionRow{"NCCL_RAS_ENABLE", &Options::ras, "", 0, 1,
              "1: ncclras and other clients of its protocol can query the state of the job"},
    OptionRow{"NCCL_RAS_ADDR", &Options::ras_address, "", 0, 0,
              "address and port on which RAS clients are answered"},
    OptionRow{"NCCL_RAS_TIMEOUT_FACTOR", &Options::ras_timeout_factor, "", 0, 1000,
              "factor by which the time limits for other processes' RAS answers are multiplied"},
    OptionRow{
        "NCCL_PROFILER_PLUGIN", &Options::profiler_plugin, "", 0, 0,
        "NCCL profiler plugin that receives the events of operations, as a file or a name; none: no plugin"},
    OptionRow{"WEIR_NCCL_VERSION", &Options::nccl_version, "", 10000, 99999,
              "NCCL version code that ncclGetVersion reports"},
};
// Raised for WEIR_CHECK_VALUES, WEIR_ADVERTISE and WEIR_PRETEND: nothing else can stand for them.
static_assert(kTable.size() <= 89);

/// A second name that NCCL has for an option of the table; not read where the first one is set.
struct OtherName {
  std::string_view name;
  std::string_view option;
};
constexpr OtherName kOtherNames[] = {OtherName{"NCCL_MAX_CTAS", "NCCL_MAX_NCHANNELS"},
                                     OtherName{"NCCL_MIN_CTAS", "NCCL_MIN_NCHANNELS"}};

/// Reads a whole number in C's notation (0x.. and 0.. included); a size may end in K, M or G.
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

/// The default of a number if it lies outside of the row's range: it means that weir chooses the number.
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

/// Stores `text` in the row's member; returns false if the text is not a valid value of the row.
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

/// The name in the table of what may be a second name.
std::string_view first_name(std::string_view name) {
  for (const OtherName& other : kOtherNames)
    if (other.name == name) return other.option;
  return name;
}

const OptionRow* find_row(std::string_view name) {
  for (const OptionRow& row : kTable) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

/// What is no row of the table: two name what options are read from, WEIR_SECRET must not be shown, and the
/// rest is for the packages for PyTorch and JAX and for the stand-ins of GPU libraries.
bool is_known_elsewhere(std::string_view name) {
  constexpr std::string_view kElsewhere[] = {"NCCL_CONF_FILE",     "NCCL_ENV_PLUGIN", "WEIR_SECRET",
                                             "WEIR_TORCH_REPLACE", "WEIR_MPI_JOB",    "WEIR_TRAIN_KERNELS"};
  return name.starts_with("WEIR_FAKE_") || std::ranges::find(kElsewhere, name) != std::end(kElsewhere);
}

bool is_ours(std::string_view name) { return name.starts_with("WEIR_"); }

/// The note on a name that is not an option: a warning if it is probably misspelt. Plugins of NCCL have
/// variables of their own, and NCCL reads more than it documents, so any other NCCL_ name may be meant for
/// them.
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
          fmt::format("{} set by {} to {} is left to plugins: weir does not read it, and NCCL does not "
                      "document it{}",
                      name, value.origin, value.text, meant)};
}

/// The XDG base directory specification requires that relative paths be ignored.
std::string absolute(const char* folder, const char* below) {
  return folder != nullptr && folder[0] == '/' ? std::string(folder) + below : std::string();
}

/// Accounts of services have a home folder that does not exist, and is not to be made.
std::string user_cache() {
  std::string folder = absolute(std::getenv("XDG_CACHE_HOME"), "/weir");
  if (!folder.empty()) return folder;
  const std::string user_folder = absolute(std::getenv("HOME"), "");
  std::error_code error;
  return std::filesystem::is_directory(user_folder, error) ? user_folder + "/.cache/weir" : std::string();
}

/// Returns false if there is no readable file at `path`.
bool read_conf_file(const std::string& path, std::map<std::string, Options::Value>& values) {
  const auto text = file_text(path);
  if (!text) return false;
  read_conf_text(*text, path, values);
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
    const OptionRow* row = find_row(first_name(name));
    if (row != nullptr && row->name != name && values.contains(std::string(row->name))) {
      options.notes.push_back(
          {Note::Kind::warning, fmt::format("{}={} (from {}) is not read: {} is set, the same option", name,
                                            value.text, value.origin, row->name)});
    } else if (row == nullptr) {
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

namespace {

/// Asks for each variable that is in the environment or that weir knows; what it does not give is not set.
void ask_plugin(const EnvironmentPlugin& plugin, std::map<std::string, Options::Value>& values) {
  std::set<std::string> names;
  for (const auto& [name, value] : values)
    if (!is_known_elsewhere(name)) names.insert(name);
  for (const OptionRow& row : kTable) names.insert(std::string(row.name));
  for (const OtherName& other : kOtherNames) names.insert(std::string(other.name));
  for (const std::string& name : names) {
    const std::optional<std::string> text = plugin.value(name);
    if (text)
      values[name] = {*text, plugin.name};
    else if (!is_ours(name))
      values.erase(name);
  }
}

}  // namespace

Options Options::from_environment(const EnvironmentPlugin* plugin) {
  std::map<std::string, Value> values;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos || !(text.starts_with("NCCL_") || text.starts_with("WEIR_")))
      continue;
    values.try_emplace(std::string(text.substr(0, equals)),
                       Value{std::string(text.substr(equals + 1)), "the environment"});
  }
  if (plugin != nullptr) ask_plugin(*plugin, values);
  const char* const user_folder = std::getenv("HOME");
  std::string unread;  // the file of NCCL_CONF_FILE, if it cannot be read
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
