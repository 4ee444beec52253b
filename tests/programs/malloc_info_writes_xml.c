// SPDX-License-Identifier: MIT
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

int main(void) {
  for (int i = 0; i < 100; ++i) free(malloc(1500));
  char* text = NULL;
  size_t bytes = 0;
  FILE* stream = open_memstream(&text, &bytes);
  CHECK(malloc_info(1, stream) != 0 && errno == EINVAL);
  CHECK(malloc_info(0, stream) == 0);
  fclose(stream);
  CHECK(strncmp(text, "<malloc version=\"pktmalloc-", 27) == 0);
  CHECK(strstr(text, "<size from=\"1536\" to=\"1536\"") != NULL);
  CHECK(strcmp(text + bytes - 10, "</malloc>\n") == 0);
  int open = 0;
  for (const char* c = text; *c != '\0'; ++c) {
    CHECK(*c != '&');
    open += (*c == '<') - (*c == '>');
    CHECK(open == 0 || open == 1);
  }
  CHECK(open == 0);
  free(text);
  return 0;
}
