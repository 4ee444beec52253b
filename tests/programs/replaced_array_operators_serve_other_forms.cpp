// SPDX-License-Identifier: MIT
#define REPLACES_ARRAYS
#include "replaced_operators_serve_other_forms.cpp"
