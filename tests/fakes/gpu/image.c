// SPDX-License-Identifier: Apache-2.0

/* A library of kernels for the stand-in: an image that names the one with the kernels built for the host. */
const char weir_gpu_image[] = "fake-gpu-module:" WEIR_HOST_KERNELS;
