/// Which instruction sets Highway compiles weir's kernels for: AVX-512, AVX2 and SSE4. SSSE3 would serve no
/// processor that matters. Include this before any header of Highway; only its headers are used, the choice
/// at run time is reduce_kernels.cc, so that libweir needs no shared library for it.
#pragma once

#define HWY_DISABLED_TARGETS HWY_SSSE3
