/* SPDX-License-Identifier: Apache-2.0
 * Sums arrays over all ranks with NCCL's interface, and checks the result.
 *
 * Any launcher starts the ranks: weir run -n 4 -- ./all_reduce, mpirun, srun or torchrun. The ranks meet at
 * NCCL_COMM_ID (HOST:PORT of rank 0), which weir run sets; with the other launchers set it to the host of the
 * first rank. */
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT 1000000

/* Ends the process with the sentence that the library has for the error. */
static void check(ncclResult_t result, const char* call) {
  if (result == ncclSuccess) return;
  fprintf(stderr, "all_reduce: %s: %s: %s\n", call, ncclGetErrorString(result), ncclGetLastError(NULL));
  exit(1);
}

/* The number that the launcher has set in the first of these variables, or `otherwise`. */
static int launched(const char* const names[], int otherwise) {
  for (; *names != NULL; ++names)
    if (getenv(*names) != NULL) return atoi(getenv(*names));
  return otherwise;
}

int main(void) {
  static const char* const kRank[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", NULL};
  static const char* const kSize[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                      "SLURM_STEP_NUM_TASKS", NULL};
  const int rank = launched(kRank, 0);
  const int ranks = launched(kSize, 1);

  /* With NCCL_COMM_ID each rank makes the id itself. Without it one rank makes it and sends all its bytes to
   * the others. */
  if (ranks > 1 && getenv("NCCL_COMM_ID") == NULL) {
    fprintf(stderr,
            "all_reduce: NCCL_COMM_ID is not set; expected HOST:PORT, where HOST is that of rank 0\n");
    return 1;
  }
  ncclUniqueId id;
  check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  ncclComm_t comm;
  check(ncclCommInitRank(&comm, ranks, id, rank), "ncclCommInitRank");

  float* values = malloc(COUNT * sizeof(float));
  if (values == NULL) return 1;
  for (int i = 0; i < COUNT; ++i) values[i] = (float)(i % 1000 + rank);
  /* In place, on host memory, with no stream: the call returns when the sums are there. */
  check(ncclAllReduce(values, values, COUNT, ncclFloat, ncclSum, comm, NULL), "ncclAllReduce");

  int wrong = 0;
  for (int i = 0; i < COUNT; ++i) wrong += values[i] != (float)(i % 1000 * ranks + ranks * (ranks - 1) / 2);
  check(ncclCommDestroy(comm), "ncclCommDestroy");
  free(values);
  if (rank == 0) printf("%d ranks, %d values each: %d sums are wrong\n", ranks, COUNT, wrong);
  return wrong != 0;
}
