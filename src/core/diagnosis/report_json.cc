// SPDX-License-Identifier: Apache-2.0
// Reports as JSON: docs/observability.md explains the names.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <type_traits>

#include "src/base/printable.h"
#include "src/core/diagnosis/process_report.h"

namespace weir::core {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kReportFormat = "weir report 1";
/// By OperationSummary::Call; that of a collective is the name of its kind.
constexpr std::string_view kCallNames[] = {"", "send", "recv", "put", "signal", "wait_signal"};

std::string call_name(const OperationSummary& operation) {
  const bool collective = operation.call == OperationSummary::Call::collective;
  return std::string(collective ? name(operation.collective)
                                : kCallNames[static_cast<size_t>(operation.call)]);
}

ordered_json json_of(const OperationReport& one) {
  const OperationSummary& operation = one.operation;
  const Collective kind = operation.kind();
  ordered_json out = {{"number", one.number},
                      {"call", one.call},
                      {"operation", call_name(operation)},
                      {"count", operation.count},
                      {"type", name(operation.type)},
                      {"bytes", operation.bytes()}};
  if (reduces(kind)) out["op"] = name(operation.op);
  if (has_root(kind)) out["root"] = operation.rank;
  if (kind == Collective::send_recv) out["peer"] = operation.rank;
  if (!one.plan.empty()) out["plan"] = one.plan;
  out["begun_ns"] = one.begun_ns;
  out["exact"] = one.exact;
  out["took_ns"] = one.took_ns;
  out["ended"] = one.ended;
  return out;
}

ordered_json json_of(const PeerAddress& peer) {
  ordered_json listeners = ordered_json::array({peer.listener.text()});
  for (const SocketAddress& other : peer.other_listeners) listeners.push_back(other.text());
  return {{"host", peer.hostname}, {"pid", peer.pid}, {"addresses", std::move(listeners)}};
}

ordered_json json_of(const CommunicatorReport& one) {
  ordered_json out = {
      {"id", one.id},     {"job", one.job},       {"name", one.name},        {"ranks", one.ranks},
      {"rank", one.rank}, {"device", one.device}, {"state", name(one.state)}};
  if (one.gpu >= 0) out["gpu"] = one.gpu;
  if (!one.pretended.empty()) out["pretended"] = one.pretended;
  if (one.code != Code::success) out["code"] = static_cast<int>(one.code);
  if (!one.sentence.empty()) out["sentence"] = one.sentence;
  if (one.culprit >= 0) out["culprit"] = one.culprit;
  if (!one.waiting_for.empty()) {
    out["waiting_for"] = one.waiting_for;
    out["waiting_ns"] = one.waiting_ns;
  }
  out["calls"] = one.calls;
  if (one.bad_values > 0) out["bad_values"] = one.bad_values;
  ordered_json counts = ordered_json::object();
  for (size_t kind = 0; kind < one.counts.size(); ++kind) {
    const Recorder::Count& count = one.counts[kind];
    if (count.begun == 0) continue;
    counts[std::string(name(static_cast<Collective>(kind)))] = {
        {"begun", count.begun}, {"ended", count.ended}, {"bytes", count.bytes}};
  }
  out["counts"] = std::move(counts);
  if (one.last) out["last"] = json_of(*one.last);
  out["recent"] = ordered_json::array();
  for (const OperationReport& operation : one.recent) out["recent"].push_back(json_of(operation));
  out["channels"] = ordered_json::array();
  for (const ChannelReport& channel : one.channels) {
    out["channels"].push_back({{"peer", channel.peer},
                               {"number", channel.number},
                               {"end", channel.sends ? "send" : "receive"},
                               {"transport", channel.transport},
                               {"bytes", channel.bytes},
                               {"messages", channel.messages}});
  }
  out["links"] = ordered_json::array();
  for (const LinkSpeed& link : one.links) {
    out["links"].push_back({{"peer", link.peer},
                            {"transport", link.transport},
                            {"over", link.over},
                            {"bytes_per_s", link.bytes_per_s},
                            {"past_bytes_per_s", link.past_bytes_per_s},
                            {"calls", link.calls},
                            {"slow", link.slow}});
  }
  out["members"] = ordered_json::array();
  for (const PeerAddress& peer : one.members) out["members"].push_back(json_of(peer));
  return out;
}

/// The enumerator whose name() is `text`.
template <typename T>
T named(const std::string& text, int values) {
  for (int i = 0; i < values; ++i) {
    if (name(static_cast<T>(i)) == text) return static_cast<T>(i);
  }
  throw std::invalid_argument("\"" + text + "\" is unknown");
}

/// Reads what another process wrote: its texts get printable.
template <typename T>
void get(const json& in, const char* key, T& out) {
  const auto found = in.find(key);
  if (found == in.end()) return;
  if constexpr (std::is_same_v<T, std::string>) {
    out = printable(found->template get_ref<const std::string&>());
  } else {
    if (std::is_integral_v<T> && found->is_number_float())
      throw std::invalid_argument(fmt::format("\"{}\" is no integer", key));
    found->get_to(out);
  }
}

OperationSummary operation_from(const json& in) {
  OperationSummary out;
  const std::string call = in.at("operation");
  out.type = named<DataType>(in.at("type"), kDataTypes);
  in.at("count").get_to(out.count);
  if (in.contains("op")) out.op = named<RedOp>(in["op"], 4);
  get(in, "root", out.rank);
  get(in, "peer", out.rank);
  const auto known = std::ranges::find(kCallNames, call);
  if (known != std::end(kCallNames))
    out.call = static_cast<OperationSummary::Call>(known - std::begin(kCallNames));
  if (out.call == OperationSummary::Call::collective)
    out.collective = named<Collective>(call, static_cast<int>(Collective::send_recv));
  return out;
}

OperationReport operation_report_from(const json& in) {
  OperationReport out;
  out.operation = operation_from(in);
  get(in, "number", out.number);
  get(in, "call", out.call);
  get(in, "plan", out.plan);
  get(in, "begun_ns", out.begun_ns);
  get(in, "exact", out.exact);
  get(in, "took_ns", out.took_ns);
  get(in, "ended", out.ended);
  return out;
}

PeerAddress peer_from(const json& in) {
  PeerAddress out;
  get(in, "host", out.hostname);
  get(in, "pid", out.pid);
  for (const json& text : in.at("addresses")) {
    auto listener = SocketAddress::parse_numeric(text.get<std::string>());
    if (!listener.ok()) throw std::invalid_argument(listener.status().message());
    if (out.listener.valid())
      out.other_listeners.push_back(*listener);
    else
      out.listener = *listener;
  }
  return out;
}

ChannelReport channel_from(const json& in) {
  ChannelReport out;
  get(in, "peer", out.peer);
  get(in, "number", out.number);
  out.sends = in.at("end") == "send";
  get(in, "transport", out.transport);
  get(in, "bytes", out.bytes);
  get(in, "messages", out.messages);
  return out;
}

LinkSpeed link_from(const json& in) {
  LinkSpeed out;
  get(in, "peer", out.peer);
  get(in, "transport", out.transport);
  get(in, "over", out.over);
  get(in, "bytes_per_s", out.bytes_per_s);
  get(in, "past_bytes_per_s", out.past_bytes_per_s);
  get(in, "calls", out.calls);
  get(in, "slow", out.slow);
  return out;
}

CommunicatorReport communicator_from(const json& in) {
  CommunicatorReport out;
  get(in, "id", out.id);
  get(in, "job", out.job);
  get(in, "name", out.name);
  get(in, "ranks", out.ranks);
  get(in, "rank", out.rank);
  get(in, "device", out.device);
  get(in, "gpu", out.gpu);
  get(in, "pretended", out.pretended);
  out.state = named<RankState>(in.at("state"), static_cast<int>(RankState::suspended) + 1);
  int code = 0;
  get(in, "code", code);
  out.code = code >= 0 && code < static_cast<int>(Code::in_progress) ? static_cast<Code>(code)
                                                                     : Code::internal_error;
  get(in, "sentence", out.sentence);
  get(in, "culprit", out.culprit);
  get(in, "waiting_for", out.waiting_for);
  get(in, "waiting_ns", out.waiting_ns);
  get(in, "calls", out.calls);
  get(in, "bad_values", out.bad_values);
  for (const auto& [kind, count] : in.at("counts").items()) {
    Recorder::Count& one = out.counts[static_cast<size_t>(named<Collective>(kind, kCollectives))];
    get(count, "begun", one.begun);
    get(count, "ended", one.ended);
    get(count, "bytes", one.bytes);
  }
  if (in.contains("last")) out.last = operation_report_from(in["last"]);
  for (const json& one : in.at("recent")) out.recent.push_back(operation_report_from(one));
  for (const json& one : in.at("channels")) out.channels.push_back(channel_from(one));
  if (in.contains("links"))
    for (const json& one : in["links"]) out.links.push_back(link_from(one));
  for (const json& one : in.at("members")) out.members.push_back(peer_from(one));
  return out;
}

ProcessReport report_from(const json& in) {
  ProcessReport out;
  if (in.at("format") != kReportFormat)
    throw std::invalid_argument(fmt::format("expected the format \"{}\"", kReportFormat));
  get(in, "host", out.hostname);
  out.host = std::stoull(in.at("host_id").get<std::string>(), nullptr, 16);
  get(in, "pid", out.pid);
  get(in, "program", out.program);
  get(in, "weir", out.version);
  get(in, "time_ns", out.time_ns);
  for (const json& one : in.at("communicators")) out.communicators.push_back(communicator_from(one));
  for (const json& one : in.at("joining")) {
    ActivityRegistry::Joining& joining = out.joining.emplace_back();
    get(one, "rank", joining.rank);
    get(one, "ranks", joining.ranks);
    get(one, "root", joining.root);
    get(one, "since_ns", joining.since_ns);
  }
  return out;
}

}  // namespace

std::string to_json(const ProcessReport& report) {
  ordered_json out = {{"format", kReportFormat},  {"weir", report.version},
                      {"host", report.hostname},  {"host_id", fmt::format("{:016x}", report.host)},
                      {"pid", report.pid},        {"program", report.program},
                      {"time_ns", report.time_ns}};
  out["communicators"] = ordered_json::array();
  for (const CommunicatorReport& one : report.communicators) out["communicators"].push_back(json_of(one));
  out["joining"] = ordered_json::array();
  for (const ActivityRegistry::Joining& one : report.joining) {
    out["joining"].push_back(
        {{"rank", one.rank}, {"ranks", one.ranks}, {"root", one.root}, {"since_ns", one.since_ns}});
  }
  return out.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

Result<ProcessReport> read_report(std::string_view text) {
  constexpr int kDeepest = 16;
  const auto is_flat = [](int depth, json::parse_event_t, json&) {
    if (depth > kDeepest) throw std::length_error("nested too deeply");
    return true;
  };
  try {
    return report_from(json::parse(text, is_flat));
  } catch (const std::exception&) {  // the JSON library reports errors only by exceptions
    return Status(Code::invalid_argument, fmt::format("{} bytes that are no report of weir", text.size()));
  }
}

}  // namespace weir::core
