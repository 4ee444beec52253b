// SPDX-License-Identifier: MIT
// What the benchmark programs share: arguments, clocks, random numbers, the line of JSON.
//
// A program measures its own section, prints one line of JSON on stdout and knows nothing of the
// allocator below it. Random numbers have fixed seeds, so every run makes the same requests.
#pragma once

#include <time.h>

#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <latch>

#include "resident.h"

namespace workload {

constexpr double kMebibyte = 1024.0 * 1024.0;
constexpr double kMegabyte = 1e6;

// Ends the program with exit status 2.
[[noreturn]] inline void usage(const char* text) {
  std::fprintf(stderr, "usage: %s\n", text);
  std::exit(2);
}

// Tells, as printf would, what is wrong with the result, and ends the program with exit status 1.
[[noreturn, gnu::format(printf, 1, 2)]] inline void fail(const char* format, ...) {
  std::va_list values;
  va_start(values, format);
  std::vfprintf(stderr, format, values);
  std::fputc('\n', stderr);
  std::exit(1);
}

// The positive whole number argv[index], or the default when the command line is shorter.
inline std::size_t argument(int argc, char** argv, int index, std::size_t default_value,
                            const char* usage_text) {
  if (index >= argc) return default_value;
  char* end = nullptr;
  long value = std::strtol(argv[index], &end, 10);
  if (*end != '\0' || value <= 0) usage(usage_text);
  return static_cast<std::size_t>(value);
}

class Stopwatch {
 public:
  double elapsed_ms() const {
    std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start_;
    return elapsed.count();
  }

  // What all threads of the process have worked, user and system time. Where threads sleep, or
  // outnumber the processors, the elapsed time also tells how they were scheduled.
  double cpu_ms() const { return process_ms() - start_process_ms_; }

 private:
  static double process_ms() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
  }

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double start_process_ms_ = process_ms();
};

// Threads that begin together. The clock starts before the first of them does: main, once it has
// let them go, may not get a processor until they are through.
class StartingLine {
 public:
  explicit StartingLine(std::size_t threads) : ready_(static_cast<std::ptrdiff_t>(threads)) {}

  // By every thread.
  void wait() {
    ready_.count_down();
    start_.wait();
  }

  // By main: when all are there, lets them go.
  Stopwatch release() {
    ready_.wait();
    Stopwatch stopwatch;
    start_.count_down();
    return stopwatch;
  }

 private:
  std::latch ready_, start_{1};
};

// Makes the compiler believe that the object is used, so that nothing about it is optimised away.
inline void keep(const void* object) { asm volatile("" : : "r"(object) : "memory"); }

// xorshift64*, of Marsaglia and Vigna.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2 + 1) {}

  // Below the limit, which is small against 2^32.
  std::uint32_t below(std::uint32_t limit) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    std::uint64_t high = (state_ * 0x2545F4914F6CDD1D) >> 32;
    return static_cast<std::uint32_t>((high * limit) >> 32);
  }

 private:
  std::uint64_t state_;
};

struct Figure {
  const char* name;
  double value;
};

// {"command": "<program and arguments>", "<name>": <value>, ..., "rss_after_mib": <what is in RAM
// now>}
inline void print_json(int argc, char** argv, std::initializer_list<Figure> figures) {
  double rss_after = resident_bytes();  // before printf takes its buffer
  std::printf("{\"command\": \"");
  for (int i = 0; i < argc; ++i) std::printf("%s%s", i == 0 ? "" : " ", argv[i]);
  std::printf("\"");
  for (const Figure& figure : figures) std::printf(", \"%s\": %.3f", figure.name, figure.value);
  std::printf(", \"rss_after_mib\": %.3f}\n", rss_after / kMebibyte);
}

}  // namespace workload
