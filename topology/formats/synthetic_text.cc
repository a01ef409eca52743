// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "topology/formats/synthetic.h"
#include "topology/formats/synthetic_grammar.h"

namespace weir::topology {
namespace {

using Wiring = Synthetic::Wiring;

using Word = MachineWord;

constexpr std::pair<Word, Wiring> kWirings[] = {{Word::nvswitch, Wiring::nvswitch},
                                                {Word::mesh, Wiring::mesh},
                                                {Word::ring, Wiring::ring},
                                                {Word::cube, Wiring::cube},
                                                {Word::mi250, Wiring::mi250}};
constexpr int64_t kMostParts = 10'000'000;  ///< maximum number of nodes and links together

constexpr const char* kFewerParts = "at most ten million nodes and links together";

int64_t pairs(int64_t count) { return count * (count - 1) / 2; }

/// An upper bound of the nodes and links that graph_of() makes of these hosts.
int64_t parts_of(const Synthetic::Hosts& hosts) {
  // Each GPU and NIC may have its own PCIe switch, a NIC has a port, and each node in the host has a link
  // upwards.
  const int64_t wires = hosts.wiring == Wiring::mesh ? pairs(hosts.gpus) : 2 * int64_t{hosts.gpus};
  const int64_t numa = 2 * int64_t{hosts.numa_nodes} + pairs(hosts.numa_nodes);
  return hosts.count * (2 + numa + 4 * int64_t{hosts.gpus} + wires + 7 * int64_t{hosts.nics});
}

/// The same for the switches above the hosts.
int64_t parts_of(const Synthetic::Fabric& fabric, const std::vector<Synthetic::Hosts>& hosts) {
  int64_t all = 0;
  int most_nics = 1;
  for (const Synthetic::Hosts& one : hosts) {
    all += one.count;
    most_nics = std::max(most_nics, one.nics);
  }
  const int64_t groups = fabric.hosts_per_leaf > 0 ? all / fabric.hosts_per_leaf + 1 : 2;
  const int64_t leaves = groups * (fabric.rail ? most_nics : 1);
  return leaves + fabric.spines + leaves * fabric.spines;
}

class SyntheticParser {
 public:
  explicit SyntheticParser(const Source& source) : source_(source), rest_(source.text) {}

  Result<Synthetic> parse() {
    Synthetic machine;
    int64_t devices = 0;
    int64_t parts = 0;
    do {
      Synthetic::Hosts& hosts = machine.hosts.emplace_back();
      WEIR_TRY(parse_hosts(hosts));
      devices += int64_t{hosts.count} * (hosts.gpus + hosts.nics);
      if (static_cast<size_t>(devices) > kMostNodes / 4)
        return expected("fewer than a million devices together");
      parts += parts_of(hosts);
      if (parts > kMostParts) return expected(kFewerParts);
    } while (take("+"));
    if (!peek().empty()) {
      WEIR_TRY(parse_fabric(machine.fabric.emplace_back()));
      if (parts + parts_of(machine.fabric[0], machine.hosts) > kMostParts) return expected(kFewerParts);
    }
    if (!peek().empty()) return expected("the end of the line");
    return machine;
  }

 private:
  /// The next word: letters, a number, or one other character.
  std::string_view peek() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front()))) rest_.remove_prefix(1);
    const auto count_while = [&](auto test) {
      size_t n = 0;
      while (n < rest_.size() && test(static_cast<unsigned char>(rest_[n]))) ++n;
      return n;
    };
    size_t length = count_while([](unsigned char c) { return std::isdigit(c) || c == '.'; });
    if (length == 0) length = count_while([](unsigned char c) { return std::isalnum(c); });
    return rest_.substr(0, length == 0 ? std::min<size_t>(rest_.size(), 1) : length);
  }
  void skip() { rest_.remove_prefix(peek().size()); }
  bool is(Word word) { return peek() == term_of(word).word; }
  bool take(Word word) { return take(term_of(word).word); }
  bool take(std::string_view word) {
    if (peek() != word) return false;
    skip();
    return true;
  }
  Status expected(const std::string& what) {
    const size_t column = source_.text.size() - (peek(), rest_.size()) + 1;
    const std::string_view word = peek();
    return refuse(
        source_, 1,
        fmt::format("column {}: {}; expected {}", column,
                    word.empty() ? "the line ends" : fmt::format("\"{}\"", word.substr(0, 40)), what));
  }
  Status integer(MachineNumber kind, const char* what, int& value) {
    const MachineLimits& limits = limits_of(kind);
    int64_t read = 0;
    if (!parse_int(peek(), read) || static_cast<double>(read) < limits.least ||
        static_cast<double>(read) > limits.most)
      return expected(fmt::format("{}, from {:.0f} to {:.0f}", what, limits.least, limits.most));
    value = static_cast<int>(read);
    skip();
    return {};
  }
  Status bandwidth(double& value) {
    const MachineLimits& limits = limits_of(MachineNumber::gb_per_s);
    if (!parse_number(peek(), value) || value < limits.least || value > limits.most)
      return expected(fmt::format("a bandwidth in GB/s, from {} to {:.0f}", limits.least, limits.most));
    skip();
    return {};
  }

  Status parse_hosts(Synthetic::Hosts& hosts) {
    if (peek() != "(") {
      WEIR_TRY(integer(MachineNumber::hosts, "a number of hosts", hosts.count));
      if (!take(Word::hosts)) return expected("x");
    }
    if (!take("(")) return expected("(");
    do {
      WEIR_TRY(parse_item(hosts));
    } while (take(","));
    if (!take(")")) return expected(", or )");
    if (hosts.wiring == Wiring::cube && hosts.gpus != 8) return expected("8 GPUs with cube");
    if (hosts.wiring == Wiring::mi250 && hosts.gpus > 16) return expected("at most 16 GPUs with mi250");
    return {};
  }

  Status parse_item(Synthetic::Hosts& hosts) {
    int count = 0;
    WEIR_TRY(integer(MachineNumber::count, "a number of gpu, nic or numa", count));
    if (take(Word::numa)) {
      hosts.numa_nodes = count;
      return {};
    }
    if (is(Word::nic) && hosts.nics == 0) {
      skip();
      hosts.nics = count;
      return bandwidth(hosts.nic_gb_per_s);
    }
    if (!is(Word::gpu) || hosts.gpus != 0) return expected("gpu, nic or numa, each once");
    skip();
    hosts.gpus = count;
    for (const auto& [word, wiring] : kWirings) {
      if (!take(word)) continue;
      hosts.wiring = wiring;
      WEIR_TRY(bandwidth(hosts.wire_gb_per_s));
      break;
    }
    return take(Word::pcie) ? bandwidth(hosts.pcie_gb_per_s) : Status();
  }

  Status parse_fabric(Synthetic::Fabric& fabric) {
    fabric.rail = take(Word::rail);
    if (!take(Word::leaf)) return expected("+, leaf, rail leaf, or the end of the line");
    if (take(Word::by)) WEIR_TRY(integer(MachineNumber::hosts, "a number of hosts", fabric.hosts_per_leaf));
    if (!peek().empty() && !is(Word::spine)) {
      const MachineLimits& ratio = limits_of(MachineNumber::ratio);
      if (!parse_number(peek(), fabric.ratio) || fabric.ratio < ratio.least || fabric.ratio > ratio.most)
        return expected(fmt::format("a ratio such as 4:1, from {}:1 to {}:1", ratio.least, ratio.most));
      skip();
      if (!take(":") || !take("1")) return expected(":1 after the ratio");
    }
    return take(Word::spine) ? integer(MachineNumber::count, "a number of spines", fabric.spines) : Status();
  }

  const Source& source_;
  std::string_view rest_;
};

}  // namespace

Result<Synthetic> read_synthetic(const Source& source) { return SyntheticParser(source).parse(); }

}  // namespace weir::topology
