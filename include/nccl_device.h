// SPDX-License-Identifier: Apache-2.0
/// NCCL's device interface, as far as weir has it: all of it compiles, for the host and with nvcc, but
/// ncclDevCommCreate returns ncclInvalidUsage, so that no kernel of it ever runs (nccl_device/host.h).
/// Tests: tests/api/device_headers_test.py
#ifndef NCCL_DEVICE_H_
#define NCCL_DEVICE_H_

#include "nccl_device/host.h"
#include "nccl_device/teams.h"

#ifdef __cplusplus
#include "nccl_device/pointers.h"
#endif
#ifdef __CUDACC__
#include "nccl_device/barriers.h"
#include "nccl_device/coop.h"
#include "nccl_device/gin.h"
#include "nccl_device/reduce_copy.h"
#endif

#endif /* NCCL_DEVICE_H_ */
