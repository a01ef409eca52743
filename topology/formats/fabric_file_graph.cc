// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "topology/formats/fabric_file.h"
#include "topology/formats/hostlist.h"
#include "topology/formats/listing.h"

namespace weir::topology {
namespace {

using fabric::FabricList;
using Names = std::unordered_map<std::string, Index>;

bool is_name(const std::string& name) {
  return !name.empty() && name.size() <= kLongestName && is_printable(name);
}

/// A line of attachments for one host: NIC, switch and rail at each position.
size_t places_of(const FabricAttachment& one) {
  return one.nics.empty() ? one.switches.size() : one.nics.size();
}
const std::string& switch_at(const FabricAttachment& one, size_t place) {
  return one.switches[one.switches.size() == 1 ? 0 : place];
}
int rail_at(const FabricAttachment& one, size_t place) {
  return one.rails.empty() ? -1 : one.rails[one.rails.size() == 1 ? 0 : place];
}

class FabricCheck {
 public:
  FabricCheck(const FabricFile& file, const fabric::RefuseItem& refuse) : file_(file), refuse_(refuse) {}

  Status run() {
    WEIR_TRY(check_switches());
    for (size_t i = 0; i < file_.hosts.size(); ++i) {
      const std::string& name = file_.hosts[i];
      if (!is_name(name))
        return refuse_(FabricList::hosts, i, fmt::format("{} is not a valid host name", shown(name)));
      if (!hosts_.emplace(name, static_cast<Index>(i)).second)
        return refuse_(FabricList::hosts, i, fmt::format("host {} is defined twice", name));
    }
    for (size_t i = 0; i < file_.cables.size(); ++i) WEIR_TRY(check_cable(i));
    for (size_t i = 0; i < file_.attachments.size(); ++i) WEIR_TRY(check_attachment(i));
    return {};
  }

 private:
  Status check_switches() {
    for (size_t i = 0; i < file_.switches.size(); ++i) {
      const FabricSwitches& one = file_.switches[i];
      if (one.level < 1 || (one.island && one.level != 1))
        return refuse_(
            FabricList::switches, i,
            fmt::format("invalid level {}; expected at least 1, the level of leaves and islands", one.level));
      if (one.guid != 0 && one.names.size() != 1)
        return refuse_(FabricList::switches, i,
                       fmt::format("one GUID for {} switches; expected one switch", one.names.size()));
      if (one.names.empty()) return refuse_(FabricList::switches, i, "the line names no switch");
      for (const std::string& name : one.names) {
        if (!is_name(name))
          return refuse_(FabricList::switches, i, fmt::format("{} is not a valid switch name", shown(name)));
        if (!switches_.emplace(name, static_cast<Index>(switches_.size())).second)
          return refuse_(FabricList::switches, i, fmt::format("switch {} is defined twice", name));
      }
    }
    return {};
  }

  Status check_cable(size_t i) {
    const FabricCable& one = file_.cables[i];
    const auto wrong = [&](const std::string& sentence) { return refuse_(FabricList::cables, i, sentence); };
    if (one.count < 1 || one.gbit_per_s < 0) return wrong("the number or speed of cables is negative");
    if (one.from.empty() || one.to.empty()) return wrong("the line names no switch");
    links_ += one.from.size() * one.to.size();
    if (links_ > kMostPairs)
      return wrong(fmt::format("more than {} pairs of switches with cables", kMostPairs));
    std::vector<Index> from;
    std::vector<Index> to;
    WEIR_TRY(find_switches(i, one.from, from));
    WEIR_TRY(find_switches(i, one.to, to));
    for (size_t a = 0; a < from.size(); ++a) {
      for (size_t b = 0; b < to.size(); ++b) {
        if (from[a] == to[b]) return wrong(fmt::format("switch {} is cabled to itself", one.from[a]));
        const auto [low, high] = std::minmax(from[a], to[b]);
        if (!cables_.emplace(low, high, one.gbit_per_s).second)
          return wrong(fmt::format(
              "{} and {} are cabled twice at this speed; expected one line with the number of cables",
              one.from[a], one.to[b]));
      }
    }
    return {};
  }

  Status find_switches(size_t cable, const std::vector<std::string>& names, std::vector<Index>& found) {
    for (const std::string& name : names) {
      const auto known = switches_.find(name);
      if (known == switches_.end())
        return refuse_(FabricList::cables, cable,
                       fmt::format("{} is cabled but not defined as a switch", name));
      found.push_back(known->second);
    }
    return {};
  }

  Status check_attachment(size_t i) {
    const FabricAttachment& one = file_.attachments[i];
    const auto wrong = [&](const std::string& sentence) {
      return refuse_(FabricList::attachments, i, sentence);
    };
    const size_t places = places_of(one);
    if (one.count < 1 || one.gbit_per_s < 0 || one.port < 1)
      return wrong("the number, port or speed is negative");
    if (one.hosts.empty() || one.switches.empty()) return wrong("the line names no host or no switch");
    if (one.switches.size() != 1 && one.switches.size() != places)
      return wrong(fmt::format("{} NICs and {} switches; expected one switch or one per NIC", places,
                               one.switches.size()));
    if (one.rails.size() > 1 && one.rails.size() != places)
      return wrong(fmt::format("{} rails; expected one or {}", one.rails.size(), places));
    if (one.count != 1 && !one.nics.empty())
      return wrong(fmt::format("a NIC's port has {} cables; expected one", one.count));
    if (one.guid != 0 && (one.hosts.size() != 1 || one.nics.size() != 1))
      return wrong("a GUID for several ports; expected one host with one NIC");
    links_ += one.hosts.size() * places;
    if (links_ > kMostPairs) return wrong(fmt::format("more than {} attachments", kMostPairs));
    for (const std::string& name : one.switches) {
      if (!switches_.contains(name)) return wrong(fmt::format("{} is not defined as a switch", shown(name)));
    }
    for (const std::string& name : one.nics) {
      if (!is_name(name)) return wrong(fmt::format("{} is not a valid NIC name", shown(name)));
    }
    for (const std::string& host : one.hosts) {
      const auto known = hosts_.find(host);
      if (known == hosts_.end())
        return wrong(fmt::format("{} is attached but not defined as a host", shown(host)));
      for (size_t place = 0; place < places; ++place) WEIR_TRY(check_place(i, known->second, place));
    }
    return {};
  }

  /// An error if it is attached already.
  Status check_place(size_t i, Index host, size_t place) {
    const FabricAttachment& one = file_.attachments[i];
    const std::string& name = file_.hosts[static_cast<size_t>(host)];
    if (!one.nics.empty()) {
      if (ports_.emplace(fmt::format("{} {} {}", host, one.port, one.nics[place])).second) return {};
      return refuse_(FabricList::attachments, i,
                     fmt::format("port {} of {} of {} is attached twice", one.port, one.nics[place], name));
    }
    const std::string& to = switch_at(one, place);
    if (direct_.emplace(host, switches_.at(to), one.gbit_per_s, rail_at(one, place)).second) return {};
    return refuse_(
        FabricList::attachments, i,
        fmt::format("{} is attached to {} twice; expected one line with the number of cables", name, to));
  }

  const FabricFile& file_;
  const fabric::RefuseItem& refuse_;
  Names switches_;
  Names hosts_;
  std::set<std::tuple<Index, Index, double>> cables_;
  std::set<std::tuple<Index, Index, double, int>> direct_;
  std::unordered_set<std::string> ports_;
  size_t links_ = 0;
};

class FabricBuilder {
 public:
  explicit FabricBuilder(const FabricFile& file) : file_(file) {}

  Graph run() {
    for (const FabricSwitches& one : file_.switches) {
      for (const std::string& name : one.names) {
        const Index at = graph_.add(name, kNone, FabricSwitchFacts{.level = one.level, .guid = one.guid});
        switches_.emplace(name, at);
        if (one.island) islands_.insert(at);
      }
    }
    for (const std::string& name : file_.hosts) hosts_.emplace(name, graph_.add(name, kNone, HostFacts{}));
    for (const FabricCable& one : file_.cables) add(one);
    for (const FabricAttachment& one : file_.attachments) {
      for (const std::string& host : one.hosts) add(one, host);
    }
    return std::move(graph_);
  }

 private:
  void add(const FabricCable& one) {
    std::vector<Index> to;
    for (const std::string& name : one.to) to.push_back(switches_.at(name));
    for (const std::string& name : one.from) {
      const Index from = switches_.at(name);
      for (const Index at : to) {
        graph_.connect({.from = from,
                        .to = at,
                        .kind = LinkKind::cable,
                        .count = one.count,
                        .gb_per_s = one.gbit_per_s * one.count / 8});
      }
    }
  }

  void add(const FabricAttachment& one, const std::string& host) {
    for (size_t place = 0; place < places_of(one); ++place) {
      const Index to = switches_.at(switch_at(one, place));
      const int rail = rail_at(one, place);
      const Index from =
          one.nics.empty() ? hosts_.at(host) : add_port(one, hosts_.at(host), one.nics[place], rail);
      graph_.connect({.from = from,
                      .to = to,
                      .kind = islands_.contains(to) ? LinkKind::nvlink : LinkKind::cable,
                      .count = one.count,
                      .gb_per_s = one.gbit_per_s * one.count / 8,
                      .rail = rail});
    }
  }

  Index add_port(const FabricAttachment& one, Index host, const std::string& name, int rail) {
    const auto [nic, is_new] = nics_.emplace(fmt::format("{} {}", host, name), graph_.size());
    if (is_new) graph_.add(name, host, NicFacts{});
    PortFacts facts;
    facts.number = one.port;
    facts.mbit_per_s = one.gbit_per_s * 1000;
    facts.guid = one.guid;
    facts.rail = rail;
    const Index port = graph_.add(std::to_string(one.port), nic->second, facts);
    graph_.connect(
        {.from = nic->second, .to = port, .kind = LinkKind::inner, .gb_per_s = one.gbit_per_s / 8});
    return port;
  }

  const FabricFile& file_;
  Graph graph_;
  std::unordered_map<std::string, Index> switches_;
  std::unordered_map<std::string, Index> hosts_;
  std::unordered_map<std::string, Index> nics_;
  std::unordered_set<Index> islands_;
};

}  // namespace

Status fabric::check(const FabricFile& file, const RefuseItem& refuse) {
  return FabricCheck(file, refuse).run();
}

Result<Graph> graph_of(const FabricFile& file) {
  WEIR_TRY(fabric::check(file, [](FabricList, size_t, const std::string& sentence) -> Status {
    return {Code::invalid_argument, sentence};
  }));
  return FabricBuilder(file).run();
}

}  // namespace weir::topology
