// SPDX-License-Identifier: Apache-2.0
#include "topology/model/latencies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "topology/formats/any.h"

namespace weir::topology {
namespace {

using ::testing::HasSubstr;

Graph line_graph(std::string_view line) {
  auto graph = read_any({"line", line}, nullptr);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return graph.ok() ? std::move(*graph) : Graph();
}

/// The sum of the latencies on the way from one GPU to another one with the fewest links; not over PCIe where
/// the GPUs have other links.
double way(const Graph& graph, Index from, Index to, const Latencies& assumed) {
  const bool fast = std::ranges::any_of(graph.links(), [](const Link& link) {
    return link.kind == LinkKind::nvlink || link.kind == LinkKind::xgmi;
  });
  std::map<Index, double> reached = {{from, 0}};
  std::vector<Index> border = {from};
  while (!border.empty() && !reached.contains(to)) {
    std::vector<Index> next;
    for (const Link& link : graph.links()) {
      if (std::ranges::find(border, link.from) == border.end()) continue;
      if (fast && link.kind == LinkKind::pci) continue;
      const bool fresh =
          reached.try_emplace(link.to, reached[link.from] + latency_of(graph, link, assumed)).second;
      if (fresh) next.push_back(link.to);
    }
    border = std::move(next);
  }
  EXPECT_TRUE(reached.contains(to));
  return reached[to];
}

double way_of_line(const char* line, size_t last, const Latencies& assumed = {}) {
  const Graph graph = line_graph(line);
  const auto gpus = graph.all(NodeKind::gpu);
  EXPECT_LT(last, gpus.size());
  return way(graph, gpus[0], gpus[last], assumed);
}

TEST(Latencies, WaysOfWellKnownMachinesTakeWhatTheSourcesSay) {
  EXPECT_DOUBLE_EQ(way_of_line("(4 gpu mesh 100)", 3), 0.6);
  EXPECT_DOUBLE_EQ(way_of_line("(8 gpu nvswitch 300)", 7), 0.6);
  EXPECT_DOUBLE_EQ(way_of_line("(16 gpu mi250 50)", 1), 1.2);
  EXPECT_NEAR(way_of_line("(2 gpu pcie 32)", 1), 1.0, 1e-9);
  EXPECT_NEAR(way_of_line("2 x (1 gpu pcie 32, 1 nic 25) leaf", 1), 2.7, 1e-9);
}

TEST(Latencies, AFileMayStateThem) {
  Graph graph = line_graph("2 x (1 gpu pcie 32, 1 nic 25) leaf");
  Link link = graph.links()[0];
  link.latency_us = 7;
  EXPECT_EQ(latency_of(graph, link, {}), 7);
}

TEST(Latencies, CanBeSet) {
  EXPECT_EQ(*parse_latencies(""), Latencies());
  const auto none = parse_latencies("0");
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(way_of_line("2 x (1 gpu pcie 32, 1 nic 25) leaf", 1, *none), 0);
  EXPECT_EQ(none->message, 0);
  const auto some = parse_latencies("2,nvlink=0.5,message=3");
  ASSERT_TRUE(some.ok());
  EXPECT_EQ(some->pcie, 2);
  EXPECT_EQ(some->nvlink, 0.5);
  EXPECT_EQ(some->message, 3);
  EXPECT_EQ(parse_latencies("network=9")->pcie, Latencies().pcie);
}

TEST(Latencies, WrongOnesAreNamed) {
  const std::pair<const char*, const char*> kWrong[] = {
      {"nvlnk=1", "\"nvlnk\" has no latency; expected NAME=MICROSECONDS with the names nvlink"},
      {"nvlink=", "nvlink is \"\"; expected microseconds"},
      {"nvlink=-1", "nvlink is \"-1\""},
      {"message=1e9", "message is \"1e9\""},
      {"nan", "the latency of all links is \"nan\""},
      {"fast", "the latency of all links is \"fast\"; expected microseconds, a number from 0 to 1e+06"}};
  for (const auto& [text, sentence] : kWrong)
    EXPECT_THAT(parse_latencies(text).status().message(), HasSubstr(sentence)) << text;
}

TEST(Latencies, OneLineNamesThoseOfTheKindsThatThereAre) {
  std::array<bool, kLinkKinds> kinds{};
  kinds[static_cast<size_t>(LinkKind::nvlink)] = kinds[static_cast<size_t>(LinkKind::cable)] = true;
  EXPECT_EQ(topology::words_of({}, kinds), "NVLink 0.6, network cable 0.15, message 1 us");
  EXPECT_EQ(topology::words_of(*parse_latencies("0"), kinds), "none");
  EXPECT_EQ(topology::words_of(*parse_latencies("0,pcie=1"), kinds), "none") << "there is no PCIe";
  EXPECT_EQ(topology::words_of(*parse_latencies("0,message=4"), {}), "message 4 us");
}

}  // namespace
}  // namespace weir::topology
