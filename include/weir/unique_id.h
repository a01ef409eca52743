// SPDX-License-Identifier: Apache-2.0
/// Unique ids beside those of ncclGetUniqueId: for programs in which new processes join a running job, whose
/// first process, and with it the address in NCCL_COMM_ID, may be gone. C and C++; needs no other header.
///
///     listener:  weirGetUniqueIdAt("10.0.0.2:29400", &id);  ncclCommInitRank(&comm, 2, id, 0);
///     newcomer:  weirGetUniqueIdAt("10.0.0.2:29400", &id);  ncclCommInitRank(&comm, 2, id, 1);
///
/// Then the one tells the other, over this communicator, the id with which the job grows (ncclCommGrow).
///
/// A program that must also run with NCCL's library should declare the function weak or look it up with
/// dlsym.
/// Tests: tests/api/unique_id_at_test.cc
#ifndef WEIR_UNIQUE_ID_H_
#define WEIR_UNIQUE_ID_H_

#ifdef __cplusplus
extern "C" {
#endif

/* Writes a unique id of 128 bytes, an ncclUniqueId. `address`: "host:port" at which rank 0 of a communicator
   with this id listens while its ranks join, as with NCCL_COMM_ID. All ranks pass the same address, have the
   same secret (WEIR_SECRET_FILE, WEIR_SECRET), and get the same id each time. Ranks that meet at the same
   address by NCCL_COMM_ID are not taken for these, as another secret follows from that of the job. NULL: a
   new id whose root starts in this process, as that of ncclGetUniqueId where NCCL_COMM_ID is not set; its
   address can be reached by hosts that reach NCCL_COMM_ID. Returns an ncclResult_t: 0; 4
   (ncclInvalidArgument) if `id` is NULL or the address is invalid; the error of the secret's file or of the
   root. ncclGetLastError describes the error in a sentence. Thread-safe. */
int weirGetUniqueIdAt(const char* address, void* id);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_UNIQUE_ID_H_ */
