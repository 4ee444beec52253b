// SPDX-License-Identifier: MIT
// Everything that libc allocates for its callers.
#define _GNU_SOURCE
#include <dirent.h>
#include <glob.h>
#include <iconv.h>
#include <locale.h>
#include <netdb.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <wchar.h>

#include "check.h"
#include "random.h"

static void lines(void) {
  FILE* file = tmpfile();
  CHECK(file != NULL);
  for (int i = 0; i < 300; ++i) fprintf(file, "%*d\n", i * 10 + 1, i);
  rewind(file);
  char* line = NULL;
  size_t room = 0;
  for (int i = 0; i < 300; ++i) CHECK(getline(&line, &room, file) == i * 10 + 2);
  CHECK(getline(&line, &room, file) == -1);
  free(line);
  fclose(file);
}

static void strings(void) {
  char* text = NULL;
  CHECK(asprintf(&text, "%0*d", 5000, 7) == 5000);
  char* copy = strdup(text);
  CHECK(copy != NULL && strcmp(copy, text) == 0);
  free(text);
  char* part = strndup(copy, 100);
  CHECK(part != NULL && strlen(part) == 100);
  free(part);
  free(copy);
  wchar_t* wide = wcsdup(L"wide");
  CHECK(wide != NULL && wcslen(wide) == 4);
  free(wide);
}

static void streams(void) {
  char* text = NULL;
  size_t bytes = 0;
  FILE* memory = open_memstream(&text, &bytes);
  CHECK(memory != NULL);
  for (int i = 0; i < 20000; ++i) fprintf(memory, "%d,", i);
  fclose(memory);
  CHECK(bytes > 100000 && strncmp(text, "0,1,2,", 6) == 0);
  FILE* reader = fmemopen(text, bytes, "r");
  int value = -1;
  CHECK(reader != NULL && fscanf(reader, "%d", &value) == 1 && value == 0);
  char* scanned = NULL;
  CHECK(fscanf(reader, "%ms", &scanned) == 1 && strlen(scanned) > 100000);
  free(scanned);
  fclose(reader);
  free(text);
}

static void names(void) {
  char* here = getcwd(NULL, 0);
  CHECK(here != NULL);
  free(here);
  char* path = realpath("/proc/self/../self", NULL);
  CHECK(path != NULL);
  free(path);
  struct dirent** entries = NULL;
  const int count = scandir("/proc/self", &entries, NULL, alphasort);
  CHECK(count > 10);
  for (int i = 0; i < count; ++i) free(entries[i]);
  free(entries);
  glob_t found;
  CHECK(glob("/proc/self/s*", 0, NULL, &found) == 0 && found.gl_pathc > 1);
  globfree(&found);
  struct addrinfo* addresses = NULL;
  struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
  CHECK(getaddrinfo("127.0.0.1", "80", &hints, &addresses) == 0 && addresses != NULL);
  freeaddrinfo(addresses);
}

static int by_value(const void* a, const void* b) {
  const uint64_t x = *(const uint64_t*)a, y = *(const uint64_t*)b;
  return x < y ? -1 : x > y;
}

static void sorted(size_t count) {
  uint64_t random = 9;
  uint64_t* values = malloc(count * sizeof *values);
  CHECK(values != NULL);
  for (size_t i = 0; i < count; ++i) values[i] = next_random(&random);
  qsort(values, count, sizeof *values, by_value);
  for (size_t i = 1; i < count; ++i) CHECK(values[i - 1] <= values[i]);
  free(values);
}

static void tables(void) {
  regex_t pattern;
  CHECK(regcomp(&pattern, "(a|b)*c{2,5}[^x]+", REG_EXTENDED) == 0);
  CHECK(regexec(&pattern, "ababccd", 0, NULL, 0) == 0);
  regfree(&pattern);
  iconv_t converter = iconv_open("UTF-16", "UTF-8");
  if (converter != (iconv_t)-1) iconv_close(converter);
  setlocale(LC_ALL, "C.UTF-8");
  for (int i = 0; i < 200; ++i) {
    char name[20];
    snprintf(name, sizeof name, "VARIABLE%d", i);
    CHECK(setenv(name, "value", 1) == 0);
    if (i % 2 == 0) CHECK(unsetenv(name) == 0);
  }
  setenv("TZ", "Europe/Berlin", 1);
  tzset();
}

int main(void) {
  for (int round = 0; round < 20; ++round) {
    lines();
    strings();
    streams();
    names();
    tables();
    sorted(10);
    sorted(3000);
    sorted(50000);
  }
  return 0;
}
