// SPDX-License-Identifier: Apache-2.0

/* A program that knows nothing but nccl.h: client RANKS sums over processes that it starts, and checks the
 * sums. Compiled against our header, and against NVIDIA's where there is one. */
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kCount = 10007 };

static int failed(ncclResult_t result, const char* what, int rank) {
  if (result == ncclSuccess) return 0;
  fprintf(stderr, "rank %d: %s: %s: %s\n", rank, what, ncclGetErrorString(result), ncclGetLastError(NULL));
  return 1;
}

static int check_sums(const float* sums, int ranks, int rank) {
  for (int i = 0; i < kCount; ++i) {
    const float expected = (float)(ranks * (i % 100)) + (float)(ranks * (ranks - 1) / 2);
    if (sums[i] != expected) {
      fprintf(stderr, "rank %d: element %d is %g instead of %g\n", rank, i, (double)sums[i],
              (double)expected);
      return 1;
    }
  }
  return 0;
}

/* A ring of sends and receives in one group. */
static int shift(ncclComm_t comm, int ranks, int rank) {
  int mine = 100 + rank, theirs = -1;
  if (failed(ncclGroupStart(), "ncclGroupStart", rank)) return 1;
  if (failed(ncclSend(&mine, 1, ncclInt, (rank + 1) % ranks, comm, NULL), "ncclSend", rank)) return 1;
  if (failed(ncclRecv(&theirs, 1, ncclInt, (rank + ranks - 1) % ranks, comm, NULL), "ncclRecv", rank))
    return 1;
  if (failed(ncclGroupEnd(), "ncclGroupEnd", rank)) return 1;
  if (theirs == 100 + (rank + ranks - 1) % ranks) return 0;
  fprintf(stderr, "rank %d: received %d\n", rank, theirs);
  return 1;
}

static int run_rank(int ranks, int rank, ncclUniqueId id) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  ncclComm_t comm = NULL;
  int count = 0, own = -1;
  float* values = (float*)malloc(kCount * sizeof(float));
  for (int i = 0; i < kCount; ++i) values[i] = (float)(i % 100 + rank);
  int bad =
      failed(ncclCommInitRankConfig(&comm, ranks, id, rank, &config), "ncclCommInitRankConfig", rank) ||
      failed(ncclCommCount(comm, &count), "ncclCommCount", rank) ||
      failed(ncclCommUserRank(comm, &own), "ncclCommUserRank", rank) || count != ranks || own != rank ||
      failed(ncclAllReduce(values, values, kCount, ncclFloat, ncclSum, comm, NULL), "ncclAllReduce", rank) ||
      check_sums(values, ranks, rank) || shift(comm, ranks, rank) ||
      failed(ncclCommFinalize(comm), "ncclCommFinalize", rank) ||
      failed(ncclCommDestroy(comm), "ncclCommDestroy", rank);
  free(values);
  return bad;
}

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? atoi(argv[1]) : 1;
  ncclUniqueId id;
  int version = 0, bad = 0;
  int pipes[64][2];
  if (ranks < 1 || ranks > 64) return 2;
  for (int rank = 1; rank < ranks; ++rank) {
    if (pipe(pipes[rank]) != 0) return 2;
    if (fork() == 0) {
      if (read(pipes[rank][0], &id, sizeof(id)) != (ssize_t)sizeof(id)) return 2;
      return run_rank(ranks, rank, id);
    }
  }
  if (failed(ncclGetVersion(&version), "ncclGetVersion", 0) || version < NCCL_VERSION_CODE) bad = 1;
  if (failed(ncclGetUniqueId(&id), "ncclGetUniqueId", 0)) bad = 1;
  for (int rank = 1; rank < ranks; ++rank) {
    if (write(pipes[rank][1], &id, sizeof(id)) != (ssize_t)sizeof(id)) bad = 1;
  }
  if (run_rank(ranks, 0, id)) bad = 1;
  for (int status = 0; wait(&status) > 0;) bad |= status != 0;
  return bad;
}
