// SPDX-License-Identifier: Apache-2.0
// The same as C++.
#include "tests/api/layout.c"
