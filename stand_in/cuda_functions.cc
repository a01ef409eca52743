// SPDX-License-Identifier: Apache-2.0
// What programs have to find in libcuda.so.1, and the stand-in does not do: it takes whatever arguments there
// are, and says that this is not supported.
#include "stand_in/world.h"

using fake::kNotSupported;

extern "C" {

int cuMemRetainAllocationHandle() { return kNotSupported; }
int cuMemGetAllocationPropertiesFromHandle() { return kNotSupported; }

int cuMulticastCreate() { return kNotSupported; }
int cuMulticastAddDevice() { return kNotSupported; }
int cuMulticastBindMem() { return kNotSupported; }
int cuMulticastUnbind() { return kNotSupported; }

int cuCtxFromGreenCtx() { return kNotSupported; }
int cuGreenCtxCreate() { return kNotSupported; }
int cuGreenCtxDestroy() { return kNotSupported; }
int cuGreenCtxStreamCreate() { return kNotSupported; }
int cuDeviceGetDevResource() { return kNotSupported; }
int cuDevResourceGenerateDesc() { return kNotSupported; }
int cuDevSmResourceSplitByCount() { return kNotSupported; }

int cuFuncGetAttribute() { return kNotSupported; }
int cuFuncSetAttribute() { return kNotSupported; }
int cuFuncSetCacheConfig() { return kNotSupported; }
int cuKernelGetAttribute() { return kNotSupported; }
int cuLaunchCooperativeKernel() { return kNotSupported; }
int cuLinkAddData_v2() { return kNotSupported; }
int cuLinkComplete() { return kNotSupported; }
int cuLinkCreate_v2() { return kNotSupported; }
int cuModuleLoad() { return kNotSupported; }
int cuModuleLoadDataEx() { return kNotSupported; }
int cuTensorMapEncodeTiled() { return kNotSupported; }
}
