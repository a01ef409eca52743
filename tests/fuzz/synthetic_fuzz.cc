// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/fuzz.h"
#include "tests/topology/writers.h"
#include "topology/formats/synthetic.h"
#include "topology/model/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir::topology;
  auto machine = read_synthetic({"fuzz", text_of(data, size)});
  if (!machine.ok()) return 0;
  auto again = read_synthetic({"written", write_synthetic(*machine)});
  require(again.ok() && *again == *machine);
  int64_t devices = 0;
  for (const Synthetic::Hosts& hosts : machine->hosts)
    devices += int64_t{hosts.count} * (hosts.gpus + hosts.nics + hosts.numa_nodes + 4) * 16;
  if (devices < 20'000) require(check(graph_of(*machine)).ok());  // larger ones only take time
  return 0;
}
