// SPDX-License-Identifier: Apache-2.0
// A tuner in the program itself, for STATIC_PLUGIN. A program of its own: where it also opened plugins of the
// same name from files, the address sanitizer would rightly see one global defined twice.
#include <gtest/gtest.h>

#include "src/drivers/tuner.h"

namespace {
int finalized = 0;
int init(size_t, size_t, void*, void** context) {
  *context = &finalized;
  return 0;
}
int ask(void*, int, size_t, int, float** costs, int, int, int, int* channels) {
  reinterpret_cast<float(*)[3]>(costs)[6][2] = 0.5F;
  *channels = 7;
  return 0;
}
int finalize(void* context) {
  ++*static_cast<int*>(context);
  return 0;
}
struct Table {
  const char* name;
  int (*init)(size_t, size_t, void*, void**);
  int (*ask)(void*, int, size_t, int, float**, int, int, int, int*);
  int (*finalize)(void*);
};
}  // namespace
extern "C" [[gnu::visibility("default")]] const Table ncclTunerPlugin_v4;
const Table ncclTunerPlugin_v4 = {"static tuner", init, ask, finalize};

namespace weir::drivers {
namespace {

TEST(StaticTuner, MayBeTheProgramItself) {
  TunerSpec spec;
  spec.plugin = "static_plugin";
  auto tuner = Tuner::load(spec);
  ASSERT_TRUE(tuner.ok() && *tuner != nullptr) << tuner.status().message();
  EXPECT_EQ((*tuner)->plugin_name(), "static tuner");
  TunedCosts costs;
  int channels = 0;
  EXPECT_TRUE((*tuner)->ask(TunedFunction::all_gather, 1, costs, channels).ok());
  EXPECT_EQ(costs.at(TunedAlgorithm::pat, TunedProtocol::simple), 0.5F);
  EXPECT_EQ(channels, 7);
  tuner->reset();
  EXPECT_EQ(finalized, 1);
}

}  // namespace
}  // namespace weir::drivers
