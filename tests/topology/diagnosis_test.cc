// SPDX-License-Identifier: Apache-2.0

#include "topology/model/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/topology/make_graph.h"

namespace weir::topology {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

auto diagnoses(Diagnosis::Weight weight, const std::string& words) {
  return AllOf(Field(&Diagnosis::weight, weight), Field(&Diagnosis::finding, HasSubstr(words)));
}
constexpr auto kWrong = Diagnosis::Weight::wrong;
constexpr auto kNotable = Diagnosis::Weight::notable;

Index by_name(const Graph& graph, const std::string& name) {
  for (Index node = 0; node < graph.size(); ++node) {
    if (graph[node].name == name) return node;
  }
  return kNone;
}

/// Keeps the links for which `keep` holds.
template <typename Keep>
void keep_links(Graph& graph, Keep keep) {
  auto& links = graph.links();
  links.erase(std::remove_if(links.begin(), links.end(), [&](const Link& link) { return !keep(link); }),
              links.end());
}

TEST(Advise, NothingAboutWhatIsWell) {
  EXPECT_THAT(diagnose(make_graph("8 x (2 numa, 8 gpu nvswitch 450, 8 nic 50) rail leaf by 4 spine 2")),
              IsEmpty());
}

TEST(Advise, NarrowAndSlowPcie) {
  Graph graph = make_graph("(2 gpu, 1 nic 25)");
  PciFacts slow;
  slow.gt_per_s = 16;
  slow.width = 8;
  slow.most_gt_per_s = 16;
  slow.most_width = 16;
  slow.address = "0000:90:00.0";
  graph.get<NicFacts>(graph.all(NodeKind::nic)[0])->pci = slow;
  slow.width = 16;
  slow.gt_per_s = 2.5;
  slow.address = "0000:50:00.0";
  graph.get<GpuFacts>(graph.all(NodeKind::gpu)[0])->pci = slow;
  EXPECT_THAT(
      diagnose(graph),
      ElementsAre(
          diagnoses(
              kWrong,
              "NIC 0000:90:00.0 has a PCIe x8 link at 16 GT/s (15.8 GB/s), but x16 at 16 GT/s (31.5 GB/s)"),
          diagnoses(kNotable, "GPU 0000:50:00.0 has a PCIe x16 link at 2.5 GT/s")));
}

TEST(Advise, GpusFarFromEveryNic) {
  // Both NICs hang on the first NUMA node.
  Graph graph = make_graph("(2 numa, 4 gpu, 1 nic 25)");
  const Index second = graph.all(NodeKind::numa)[1];
  const Index gpu = graph.all(NodeKind::gpu)[3];
  keep_links(graph, [&](const Link& link) { return link.from != gpu && link.to != gpu; });
  graph[gpu].parent = second;
  graph.connect({gpu, second, LinkKind::pci, 1, 32, 0, -1});
  EXPECT_THAT(
      diagnose(graph),
      ElementsAre(diagnoses(kWrong, "every NIC is on a different NUMA node than GPU " + graph[gpu].name)));
}

TEST(Advise, HostsThatDifferAndPortsThatAreDown) {
  Graph graph = make_graph("4 x (2 gpu, 2 nic 25) leaf");
  graph.get<PortFacts>(graph.all(NodeKind::port)[3])->active = false;
  EXPECT_THAT(diagnose(graph),
              ElementsAre(diagnoses(kNotable, "1 port is down: host host1, port nic1"),
                          diagnoses(kNotable, "host1 has different hardware from the 3 hosts like host0")));
}

TEST(Advise, CablesThatAreMissingOrSlow) {
  const Graph whole = make_graph("16 x (1 gpu, 1 nic 25) leaf by 4 spine 4");
  const auto pair = [&](const Link& link, const char* leaf, const char* spine) {
    const Index a = by_name(whole, leaf), b = by_name(whole, spine);
    return (link.from == a && link.to == b) || (link.from == b && link.to == a);
  };
  Graph missing = whole;
  keep_links(missing, [&](const Link& link) { return !pair(link, "leaf1", "spine2"); });
  EXPECT_THAT(diagnose(missing),
              testing::Contains(diagnoses(kWrong, "there is no cable between leaf1 and spine2")));
  Graph thin = whole;
  for (Link& link : thin.links()) {
    if (link.kind == LinkKind::cable && thin[link.from].kind() == NodeKind::fabric_switch &&
        thin[link.to].kind() == NodeKind::fabric_switch && !pair(link, "leaf3", "spine0")) {
      link.count = 2;
    }
  }
  EXPECT_THAT(diagnose(thin),
              testing::Contains(diagnoses(kWrong, "between leaf3 and spine0 there is 1 of 2 cables")));
  Graph slow = whole;
  for (Link& link : slow.links()) {
    if (pair(link, "leaf0", "spine0")) link.gb_per_s /= 2;
  }
  EXPECT_THAT(diagnose(slow),
              testing::Contains(
                  diagnoses(kWrong, "cables between leaf0 and spine0 run at 12.5 GB/s, most others at 25")));
  Graph port = whole;
  const Index first = port.all(NodeKind::port)[5];
  for (Link& link : port.links()) {
    if (link.kind == LinkKind::cable && (link.from == first || link.to == first)) link.gb_per_s = 12.5;
  }
  EXPECT_THAT(
      diagnose(port),
      testing::Contains(diagnoses(
          kWrong, "the cable of host host5, port nic0 to leaf1 runs at 12.5 GB/s, most others at 25")));
}

TEST(Advise, Oversubscription) {
  EXPECT_THAT(diagnose(make_graph("8 x (1 gpu, 1 nic 25) leaf by 2 4:1 spine 2")),
              ElementsAre(diagnoses(kNotable, "leaf0, leaf1, leaf2 and leaf3 are oversubscribed 4:1")));
}

}  // namespace
}  // namespace weir::topology
