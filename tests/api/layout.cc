// The same as C++.
#include "tests/api/layout.c"
