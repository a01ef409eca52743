// SPDX-License-Identifier: Apache-2.0
// Which GPU the ranks of a communicator have, as the C interface gives and tells it.
#include <span>
#include <vector>

#include "tests/api/gpu.h"

namespace weir::api {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class GpuDevices : public UsesGpu {};

std::vector<int> devices_of(std::span<const ncclComm_t> comms) {
  std::vector<int> devices;
  for (const ncclComm_t comm : comms) {
    int device = -1;
    EXPECT_EQ(ncclCommCuDevice(comm, &device), ncclSuccess);
    devices.push_back(device);
  }
  return devices;
}

void destroy(std::span<const ncclComm_t> comms) {
  for (const ncclComm_t comm : comms) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST_F(GpuDevices, InitAllTakesThoseOfTheList) {
  ncclComm_t comms[3] = {};
  const int devices[] = {1, 0, 1};
  ASSERT_EQ(ncclCommInitAll(comms, 3, devices), ncclSuccess) << last_sentence();
  EXPECT_THAT(devices_of(comms), ::testing::ElementsAre(1, 0, 1));
  // Each on a stream of its own GPU, from one thread; host memory belongs to none.
  const GpuStream first(other_gpu()), second(gpu()), third(other_gpu());
  std::vector<int> data[3] = {std::vector<int>(10, 1), std::vector<int>(10, 2), std::vector<int>(10, 3)};
  const cudaStream_t streams[] = {first, second, third};
  ncclGroupStart();
  for (size_t rank = 0; rank < 3; ++rank)
    ncclAllReduce(data[rank].data(), data[rank].data(), 10, ncclInt, ncclSum, comms[rank], streams[rank]);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << last_sentence();
  first.wait();
  second.wait();
  third.wait();
  for (const auto& got : data) EXPECT_THAT(got, ::testing::Each(6));
  // Children have the GPU of their parent.
  ncclComm_t children[3] = {};
  ncclGroupStart();
  for (int rank = 0; rank < 3; ++rank) ncclCommSplit(comms[rank], 0, -rank, &children[rank], nullptr);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << last_sentence();
  EXPECT_THAT(devices_of(children), ::testing::ElementsAre(1, 0, 1));
  destroy(children);
  destroy(comms);
}

TEST_F(GpuDevices, InitAllWithoutAListTakesTheFirstOnes) {
  ncclComm_t comms[3] = {};
  ASSERT_EQ(ncclCommInitAll(comms, 2, nullptr), ncclSuccess) << last_sentence();
  EXPECT_THAT(devices_of({comms, 2}), ::testing::ElementsAre(0, 1));
  destroy({comms, 2});
  EXPECT_EQ(ncclCommInitAll(comms, 3, nullptr), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(),
              AllOf(HasSubstr("ncclCommInitAll : no device for rank 2 of 3 : there is no fake GPU 2"),
                    HasSubstr("or a list that names them")));
}

TEST_F(GpuDevices, InitAllRefusesWhatThereIsNot) {
  ncclComm_t comms[2] = {};
  const int missing[] = {0, 7}, wrong[] = {-1, 0};
  EXPECT_EQ(ncclCommInitAll(comms, 2, missing), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("no device for rank 1 of 2 : there is no fake GPU 7"));
  EXPECT_EQ(ncclCommInitAll(comms, 2, wrong), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("invalid device -1 at position 0"));
  EXPECT_EQ(comms[0], nullptr);
  EXPECT_EQ(comms[1], nullptr);
}

TEST(HostDevices, AreAsTheListSays) {
  ncclComm_t comms[2] = {};
  const int devices[] = {5, 5};
  ASSERT_EQ(ncclCommInitAll(comms, 2, devices), ncclSuccess) << last_sentence();
  EXPECT_THAT(devices_of(comms), ::testing::ElementsAre(5, 5));
  destroy(comms);
}

/// The thread has the first GPU current.
TEST_F(GpuDevices, ARankHasThatOfItsThread) {
  const Alone comm;
  const ncclComm_t comms[] = {comm};
  EXPECT_THAT(devices_of(comms), ::testing::ElementsAre(0));
  const GpuStream own, foreign(other_gpu());
  void* const elsewhere = *other_gpu().allocate(64, device::GpuMemory::device);
  EXPECT_EQ(ncclAllReduce(elsewhere, elsewhere, 10, ncclInt, ncclSum, comm, own), ncclInvalidUsage);
  EXPECT_THAT(last_sentence(), AllOf(HasSubstr("rank 0 uses fake GPU 0"), HasSubstr("memory of fake GPU 1")));
  EXPECT_EQ(ncclAllReduce(nullptr, nullptr, 0, ncclInt, ncclSum, comm, foreign), ncclInvalidUsage)
      << "from the first call on";
  EXPECT_THAT(last_sentence(), HasSubstr("a stream of fake GPU 1"));
  const OnGpu<int> data(10, 3);
  EXPECT_EQ(ncclAllReduce(data.data(), data.data(), 10, ncclInt, ncclSum, comm, own), ncclSuccess)
      << last_sentence();
  EXPECT_EQ(wrong(data.read(own), [](size_t) { return 3; }), "");
  EXPECT_TRUE(other_gpu().free(elsewhere, device::GpuMemory::device).ok());
}

}  // namespace
}  // namespace weir::api
