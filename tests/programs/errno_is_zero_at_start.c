// SPDX-License-Identifier: MIT
// C: errno is zero when a program begins, whatever was done before main.
#include <errno.h>

int main(void) { return errno; }
