// SPDX-License-Identifier: Apache-2.0
// Schedules that a program loads from files and runs by handle.
#include <fstream>
#include <numeric>

#include "tests/api/ranks.h"

extern "C" {
typedef int mscclAlgoHandle_t;
ncclResult_t mscclLoadAlgo(const char* path, mscclAlgoHandle_t* handle, int rank);
ncclResult_t mscclRunAlgo(const void* sendbuff, const size_t sendcounts[], const size_t sdispls[],
                          void* recvbuff, const size_t recvcounts[], const size_t rdispls[], size_t count,
                          ncclDataType_t type, int root, int peer, ncclRedOp_t op, mscclAlgoHandle_t handle,
                          ncclComm_t comm, void* stream);
ncclResult_t mscclUnloadAlgo(mscclAlgoHandle_t handle);
}

namespace weir::api {
namespace {

using ::testing::HasSubstr;

/// Rank 0 sends what it has to all, in MSCCL's format.
constexpr const char* kBroadcast =
    R"(<algo name="star" proto="Simple" nchannels="1" nchunksperloop="1" ngpus="3" coll="broadcast" root="0" inplace="1" outofplace="1" minBytes="0" maxBytes="0">
  <gpu id="0" i_chunks="1" o_chunks="1" s_chunks="0">
    <tb id="0" send="1" recv="-1" chan="0"><step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/></tb>
    <tb id="1" send="2" recv="-1" chan="0"><step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/></tb>
    <tb id="2" send="-1" recv="-1" chan="0"><step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/></tb>
  </gpu>
  <gpu id="1" i_chunks="1" o_chunks="1" s_chunks="0">
    <tb id="0" send="-1" recv="0" chan="0"><step s="0" type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/></tb>
  </gpu>
  <gpu id="2" i_chunks="1" o_chunks="1" s_chunks="0">
    <tb id="0" send="-1" recv="0" chan="0"><step s="0" type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/></tb>
  </gpu>
</algo>
)";

class Msccl : public ::testing::Test {
 protected:
  Msccl() {
    char name[] = "/tmp/weir_msccl_XXXXXX";
    close(mkstemp(name));
    file_ = name;
    std::ofstream(file_) << kBroadcast;
  }
  ~Msccl() override { unlink(file_.c_str()); }

  mscclAlgoHandle_t load() const {
    mscclAlgoHandle_t handle = 0;
    EXPECT_EQ(mscclLoadAlgo(file_.c_str(), &handle, 0), ncclSuccess) << last_sentence();
    return handle;
  }
  static ncclResult_t run(mscclAlgoHandle_t handle, int* data, size_t count, ncclComm_t comm, int root = 0) {
    return mscclRunAlgo(data, nullptr, nullptr, data, nullptr, nullptr, count, ncclInt, root, 0, ncclSum,
                        handle, comm, nullptr);
  }

  std::string file_;
};

TEST_F(Msccl, ASchedulesRunsAsItsCollective) {
  with_ranks(3, [&](ncclComm_t comm, int rank) {
    const mscclAlgoHandle_t handle = load();
    for (const size_t count : {size_t{1}, size_t{1000}, size_t{100'000}}) {
      std::vector<int> data(count), expected(count);
      std::iota(expected.begin(), expected.end(), 5);
      if (rank == 0) data = expected;
      EXPECT_EQ(run(handle, data.data(), count, comm), ncclSuccess) << last_sentence();
      EXPECT_EQ(data, expected);
      EXPECT_EQ(sum_over(comm, 1), 3) << "other calls go on as they are";
    }
    EXPECT_EQ(mscclUnloadAlgo(handle), ncclSuccess);
  });
}

TEST_F(Msccl, RunsInGroups) {
  with_ranks(3, [&](ncclComm_t comm, int rank) {
    const mscclAlgoHandle_t handle = load();
    int first = rank == 0 ? 7 : 0, second = rank == 0 ? 8 : 0;
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(run(handle, &first, 1, comm), ncclSuccess) << last_sentence();
    EXPECT_EQ(run(handle, &second, 1, comm), ncclSuccess) << last_sentence();
    EXPECT_EQ(mscclUnloadAlgo(handle), ncclSuccess) << "calls that are queued keep it";
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << last_sentence();
    EXPECT_EQ(first, 7);
    EXPECT_EQ(second, 8);
  });
}

TEST_F(Msccl, RanksThatRunDifferentThingsAreTold) {
  on_threads(3, [&](int rank, const ncclUniqueId& id) {
    ncclComm_t comm = nullptr;
    ASSERT_EQ(ncclCommInitRank(&comm, 3, id, rank), ncclSuccess) << last_sentence();
    int data = 1;
    if (rank == 1) {
      EXPECT_NE(ncclBroadcast(&data, &data, 1, ncclInt, 0, comm, nullptr), ncclSuccess);
    } else {
      (void)run(load(), &data, 1, comm);  // which may have sent all that it has to send
    }
    EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
  });
}

TEST_F(Msccl, WhatCannotRunIsRefused) {
  Alone comm;
  int data = 1;
  EXPECT_EQ(run(12'345, &data, 1, comm), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("mscclRunAlgo : no schedule has the handle 12345"));
  const mscclAlgoHandle_t handle = load();
  EXPECT_EQ(run(handle, &data, 1, comm), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("is for 3 ranks, and the communicator has 1"));
  const size_t counts[] = {1};
  EXPECT_EQ(mscclRunAlgo(&data, counts, nullptr, &data, nullptr, nullptr, 1, ncclInt, 0, 0, ncclSum, handle,
                         comm, nullptr),
            ncclInvalidArgument);
  EXPECT_EQ(mscclUnloadAlgo(handle), ncclSuccess);
  EXPECT_EQ(mscclUnloadAlgo(handle), ncclInvalidArgument);
  with_ranks(3, [&](ncclComm_t three, int) {
    const mscclAlgoHandle_t again = load();
    EXPECT_EQ(run(again, &data, 1, three, 2), ncclInvalidArgument) << "its root is 0";
  });
}

TEST_F(Msccl, WhatCannotBeLoadedIsRefused) {
  mscclAlgoHandle_t handle = 0;
  EXPECT_EQ(mscclLoadAlgo(nullptr, &handle, 0), ncclInvalidArgument);
  EXPECT_EQ(mscclLoadAlgo(file_.c_str(), nullptr, 0), ncclInvalidArgument);
  EXPECT_EQ(mscclLoadAlgo("/nowhere", &handle, 0), ncclSystemError);
  EXPECT_THAT(last_sentence(), HasSubstr("mscclLoadAlgo : "));
  EXPECT_THAT(last_sentence(), HasSubstr("/nowhere"));
  std::string wrong = kBroadcast;
  wrong.replace(wrong.find("<tb id=\"2\""), 10, "<tb id=\"7\"");
  std::ofstream(file_) << wrong;
  EXPECT_EQ(mscclLoadAlgo(file_.c_str(), &handle, 0), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("the block has id 7; expected 2"));
}

}  // namespace
}  // namespace weir::api
