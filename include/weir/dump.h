// SPDX-License-Identifier: Apache-2.0
/// Writes a process report to a file: the communicators of this process, which rank waits for which, and the
/// last operations. C and C++; needs no other header.
///
///     weirDump("/tmp/weir-%h-%p.json");
///
/// `weir ps` shows the same for running processes, `weir trace` draws it (docs/observability.md). With
/// WEIR_DUMP_FILE such a file is written when a communicator fails, with WEIR_DUMP_SIGNAL on a signal.
///
/// A program that must also run with NCCL's library should declare the function weak or look it up with
/// dlsym.
/// Tests: tests/api/dump_test.cc
#ifndef WEIR_DUMP_H_
#define WEIR_DUMP_H_

#ifdef __cplusplus
extern "C" {
#endif

/* Writes JSON to the file and replaces its previous content. In the file's name %h is replaced by the host
   name and %p by the process id. Any thread at any time, even while other threads use communicators, which
   are not affected; not from a signal handler. Returns an ncclResult_t: 0; 4 (ncclInvalidArgument) if `path`
   is NULL or empty; 2 (ncclSystemError) if the file cannot be written. ncclGetLastError describes the error
   in a sentence. */
int weirDump(const char* path);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_DUMP_H_ */
