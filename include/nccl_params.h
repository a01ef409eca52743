// SPDX-License-Identifier: Apache-2.0
/// The part of nccl.h about parameters (environment variables) by name, which NCCL has since 2.30. Included
/// by nccl.h.
///
/// Keys are the names that `weir options` lists. Thread-safe. Texts and tables stay valid until the thread's
/// next call of the function that gave them. Tests: tests/api/params_test.cc
#ifndef NCCL_PARAMS_H_
#define NCCL_PARAMS_H_

#include "nccl.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ncclParamHandle* ncclParamHandle_t; /* never freed */

ncclResult_t ncclParamBind(ncclParamHandle_t* out, const char* key);
ncclResult_t pncclParamBind(ncclParamHandle_t* out, const char* key);
ncclResult_t ncclParamGetI8(ncclParamHandle_t handle, int8_t* out);
ncclResult_t pncclParamGetI8(ncclParamHandle_t handle, int8_t* out);
ncclResult_t ncclParamGetI16(ncclParamHandle_t handle, int16_t* out);
ncclResult_t pncclParamGetI16(ncclParamHandle_t handle, int16_t* out);
ncclResult_t ncclParamGetI32(ncclParamHandle_t handle, int32_t* out);
ncclResult_t pncclParamGetI32(ncclParamHandle_t handle, int32_t* out);
ncclResult_t ncclParamGetI64(ncclParamHandle_t handle, int64_t* out);
ncclResult_t pncclParamGetI64(ncclParamHandle_t handle, int64_t* out);
ncclResult_t ncclParamGetU8(ncclParamHandle_t handle, uint8_t* out);
ncclResult_t pncclParamGetU8(ncclParamHandle_t handle, uint8_t* out);
ncclResult_t ncclParamGetU16(ncclParamHandle_t handle, uint16_t* out);
ncclResult_t pncclParamGetU16(ncclParamHandle_t handle, uint16_t* out);
ncclResult_t ncclParamGetU32(ncclParamHandle_t handle, uint32_t* out);
ncclResult_t pncclParamGetU32(ncclParamHandle_t handle, uint32_t* out);
ncclResult_t ncclParamGetU64(ncclParamHandle_t handle, uint64_t* out);
ncclResult_t pncclParamGetU64(ncclParamHandle_t handle, uint64_t* out);
ncclResult_t ncclParamGetStr(ncclParamHandle_t handle, const char** out);
ncclResult_t pncclParamGetStr(ncclParamHandle_t handle, const char** out);
ncclResult_t ncclParamGet(ncclParamHandle_t handle, void* out, int maxLen, int* len);
ncclResult_t pncclParamGet(ncclParamHandle_t handle, void* out, int maxLen, int* len);
ncclResult_t ncclParamGetParameter(const char* key, const char** value, int* valueLen);
ncclResult_t pncclParamGetParameter(const char* key, const char** value, int* valueLen);
ncclResult_t ncclParamGetAllParameterKeys(const char*** table, int* tableLen);
ncclResult_t pncclParamGetAllParameterKeys(const char*** table, int* tableLen);
void ncclParamDumpAll(void);
void pncclParamDumpAll(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NCCL_PARAMS_H_ */
