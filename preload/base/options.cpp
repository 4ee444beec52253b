// SPDX-License-Identifier: MIT
#include "preload/base/options.h"

#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "preload/base/message.h"
#include "preload/base/quantity.h"
#include "preload/base/this_library.h"
#include "preload/contract/heap_profile.h"
#include "preload/contract/pktmalloc.h"

namespace pktmalloc {
namespace {

constinit Options parsed{};  // holds the table's defaults from read_options() on

bool equal(const char* a, const char* b) { return strcmp(a, b) == 0; }

bool parse_number(const char* text, unsigned least, unsigned most, int& out) {
  uint64_t n = 0;
  if (!parse_quantity(text, kOnes, least, most, n)) return false;
  out = static_cast<int>(n);
  return true;
}

// One of these words, in the order of T's values.
template <typename T, size_t kCount>
bool parse_word(const char* text, const char* const (&words)[kCount], T& out) {
  for (size_t i = 0; i < kCount; ++i) {
    out = static_cast<T>(i);
    if (equal(text, words[i])) return true;
  }
  return false;
}

// Items between commas, or none if the text is `none`. `read` reads one, moving `text` past it.
template <typename T, size_t kMost, typename Read>
bool parse_list(const char*& text, const char* none, T (&list)[kMost], unsigned& count, Read read) {
  count = 0;
  if (equal(text, none)) return true;
  unsigned got = 0;
  for (;; ++text) {
    if (got == kMost || !read(list[got++])) return false;
    if (*text == '\0') break;
  }
  count = got;
  return true;
}

// Paths are copied: programs that set their title (redis, postgres) overwrite the environment.
char stats_path[PATH_MAX];
char sizes_path[PATH_MAX];
char recording_path[PATH_MAX];
char next_path[PATH_MAX];
char trace_path[PATH_MAX];
char profile_path[PATH_MAX];
char folder[PATH_MAX];  // programs may change folder before they end

char name[NAME_MAX + 1];  // of the program; arguments get overwritten as well

// nullptr when it is too long for a path.
const char* copy_path(const char* value, char (&copy)[PATH_MAX]) {
  const size_t bytes = strlen(value) + 1;
  return bytes > sizeof copy ? nullptr : static_cast<const char*>(memcpy(copy, value, bytes));
}

// Nobody knows when libc's own function allocates.
void remember_folder() {
  const bool known = syscall(SYS_getcwd, folder, sizeof folder) > 0 && *folder == '/';
  if (!known) *folder = '\0';
}

// A single word is more likely a mistaken switch, such as "off", than a file to write.
bool parse_path(const char* value, char (&copy)[PATH_MAX], const char*& path) {
  path = equal(value, "0") ? nullptr : copy_path(value, copy);
  if (path != nullptr && *path != '/') remember_folder();
  return equal(value, "0") || (strpbrk(value, "/.") != nullptr && path != nullptr);
}

bool parse_STATS(const char* value) {
  if (!equal(value, "1")) return parse_path(value, stats_path, parsed.stats_path);
  parsed.stats_path = "";
  return true;
}

bool parse_SIZES(const char* value) { return parse_path(value, sizes_path, parsed.sizes_path); }

bool parse_RECORDING(const char* value) {
  return parse_path(value, recording_path, parsed.recording_path);
}

bool parse_STATS_INTERVAL(const char* value) {
  parsed.stats_interval_ms = 0;
  return equal(value, "0") ||
         parse_quantity(value, kTimes, 100, 86'400'000, parsed.stats_interval_ms);
}

bool parse_CONTROL(const char* value) { return parse_word(value, {"0", "1"}, parsed.control); }

bool parse_TELL(const char* value) { return parse_number(value, 0, INT_MAX, parsed.tell); }

bool parse_CHILDREN(const char* value) { return parse_word(value, {"0", "1"}, parsed.children); }

bool parse_CLASSES(const char* value) {
  const bool understood =
      parse_list(value, "default", parsed.class_sizes, parsed.class_count,
                 [&](size_t& bytes) { return read_quantity(value, kBytes, 1, 1 << 20, bytes); });
  std::sort(parsed.class_sizes, parsed.class_sizes + parsed.class_count);
  return understood;
}

bool parse_RESERVE(const char* value) {
  return parse_list(
      value, "0", parsed.reserve, parsed.reserve_count, [&](Options::Reserve& reserve) {
        const bool understood = read_quantity(value, kBytes, 1, 1 << 20, reserve.bytes, ":") &&
                                *value++ == ':' &&
                                read_quantity(value, kOnes, 1, uint64_t{1} << 40, reserve.objects);
        parsed.reserve_huge = equal(value, ",huge");  // behind the last one
        if (parsed.reserve_huge) value += strlen(value);
        return understood;
      });
}

bool parse_share(const char* value, MemoryShare& out) {
  out = {};
  uint64_t percent = 0;
  if (parse_quantity(value, kPercents, 1, 100, percent)) {
    out.percent = static_cast<unsigned>(percent);
    return true;
  }
  return equal(value, "0") || parse_quantity(value, kBytes, 1 << 20, uint64_t{1} << 44, out.bytes);
}

bool parse_HUGEPAGES(const char* value) {
  return parse_word(value, {"auto", "never", "madvise"}, parsed.huge_pages);
}

bool parse_LIMIT(const char* value) { return parse_share(value, parsed.limit); }

bool parse_SOFT_LIMIT(const char* value) { return parse_share(value, parsed.soft_limit); }

bool parse_NEXT(const char* value) {
  parsed.next_path = equal(value, "default")    ? nullptr
                     : equal(value, "mimalloc") ? "libmimalloc.so.2"
                                                : copy_path(value, next_path);
  return equal(value, "default") || equal(value, "mimalloc") ||
         (strchr(value, '/') != nullptr && parsed.next_path != nullptr);
}

bool parse_AGE(const char* value) {
  return parse_quantity(value, kTimes, 4, 3'600'000, parsed.age_ms);
}

bool parse_BACKGROUND(const char* value) {
  return parse_word(value, {"0", "1", "auto"}, parsed.background);
}

bool parse_TRACE(const char* value) { return parse_path(value, trace_path, parsed.trace_path); }

bool parse_VERBOSE(const char* value) { return parse_word(value, {"0", "1"}, parsed.verbose); }

bool parse_PROFILE(const char* value) {
  return parse_path(value, profile_path, parsed.profile_path);
}

bool parse_PROFILE_RATE(const char* value) {
  parsed.given_profile_rate = 0;
  return equal(value, "auto") ||
         parse_quantity(value, kBytes, 1, uint64_t{1} << 40, parsed.given_profile_rate);
}

bool parse_PROFILE_STACKS(const char* value) {
  return parse_word(value, {"unwind", "frame_pointers"}, parsed.profile_stacks);
}

bool parse_PROFILE_DEPTH(const char* value) {
  return parse_number(value, 4, kMostFrames, parsed.profile_depth);
}

bool parse_PROFILE_LEAKS(const char* value) {
  return parse_word(value, {"0", "1"}, parsed.profile_leaks);
}

bool parse_SAMPLE_GUARD(const char* value) {
  return parse_quantity(value, kOnes, 0, 1'000'000'000, parsed.sample_guard);
}

bool parse_CHECK(const char* value) {
  return parse_word(value, {"abort", "report"}, parsed.check_reports);
}

bool parse_QUARANTINE(const char* value) {
  return parse_quantity(value, kBytes, 0, size_t{16} << 30, parsed.quarantine_bytes);
}

bool parse_QUARANTINE_RATE(const char* value) {
  return parse_number(value, 1, 1'000'000, parsed.quarantine_rate);
}

bool parse_CLEAR(const char* value) {
  return parse_quantity(value, kBytes, 64, size_t{256} << 10, parsed.clear_bytes);
}

bool parse_CANARY(const char* value) { return parse_word(value, {"0", "1"}, parsed.canary); }

bool parse_GUARD(const char* value) {
  return parse_quantity(value, kBytes, 0, size_t{256} << 10, parsed.guard_size);
}

struct Option {
  const char* name;
  const char* default_value;
  const char* accepted;
  bool (*parse)(const char* value);
  unsigned libraries;  // where it does something, 1 << kind each
  const char* given;   // in the environment
};

constexpr char kPrefix[] = "PKTMALLOC_";
constexpr size_t kPrefixLength = sizeof kPrefix - 1;

constexpr unsigned bit(LibraryKind kind) { return 1U << static_cast<unsigned>(kind); }
constexpr unsigned kAll = ~0U;

constinit Option table[] = {
#define OPTION_OF(LIBRARIES, NAME, default_value, accepted) \
  {#NAME, default_value, accepted, parse_##NAME, LIBRARIES, nullptr},
#define OPTION(NAME, default_value, accepted, help) OPTION_OF(kAll, NAME, default_value, accepted)
#define CHECKED_OPTION(NAME, default_value, accepted, help) \
  OPTION_OF(bit(LibraryKind::kChecked), NAME, default_value, accepted)
#define HARDENED_OPTION(NAME, default_value, accepted, help) \
  OPTION_OF(bit(LibraryKind::kHardened), NAME, default_value, accepted)
#define UNCHECKED_OPTION(NAME, default_value, accepted, help) \
  OPTION_OF(kAll & ~bit(LibraryKind::kChecked), NAME, default_value, accepted)
#include "preload/contract/options.def"
#undef OPTION
#undef OPTION_OF
};

constexpr char kNames[] =
#define OPTION(NAME, default_value, accepted, help) " " kOptionPrefix #NAME
#define kOptionPrefix "PKTMALLOC_"
#include "preload/contract/options.def"
#undef kOptionPrefix
#undef OPTION
    ;

bool is_gone(const char* variable, size_t length) {
  static constexpr char kSignal[] = "STATS_SIGNAL";
  if (length != sizeof kSignal - 1 || strncmp(variable, kSignal, length) != 0) return false;
  message(
      "PKTMALLOC_STATS_SIGNAL is no option any more, for signals disturb: set PKTMALLOC_CONTROL=1 "
      "and use pktmalloc tell");
  return true;
}

// "NAME=value", without the prefix.
void read_variable(const char* variable) {
  const char* equals = strchr(variable, '=');
  if (equals == nullptr) return;
  const size_t length = static_cast<size_t>(equals - variable);
  for (Option& option : table) {
    if (strlen(option.name) != length || strncmp(option.name, variable, length) != 0) continue;
    option.given = equals + 1;
    const Excerpt value(option.given, strlen(option.given));
    if (option.parse(option.given)) {
      if ((option.libraries & bit(kThisLibrary)) == 0) {
        message("PKTMALLOC_%s=%s does nothing here: it is for %s", option.name, value.text,
                kLibraries[std::countr_zero(option.libraries)].file);
      }
      return;
    }
    message("PKTMALLOC_%s=%s is not understood; accepted: %s; using %s", option.name, value.text,
            option.accepted, option.default_value);
    option.given = nullptr;
    option.parse(option.default_value);
    return;
  }
  if (is_gone(variable, length)) return;
  message("unknown option PKTMALLOC_%s is ignored; the options are%s",
          Excerpt(variable, length).text, kNames);
}

void print_options() {
  if (kThisLibrary == LibraryKind::kNormal) {
    message("version %s", PKTMALLOC_VERSION);
  } else {
    message("version %s, the %s library", PKTMALLOC_VERSION, names_of(kThisLibrary).word);
  }
  for (const Option& option : table) {
    message("PKTMALLOC_%s=%s (%s)", option.name,
            option.given != nullptr ? option.given : option.default_value,
            option.given != nullptr ? "environment" : "default");
  }
}

}  // namespace

void read_options() {
  static bool done = false;
  // A program linked with -static may allocate before libc knows its name.
  if (*name == '\0') strncpy(name, program_invocation_short_name, sizeof name - 1);
  if (done) return;
  for (const Option& option : table) option.parse(option.default_value);
  if (environ == nullptr) return;
  done = true;
  if (getauxval(AT_SECURE) != 0) return;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (strncmp(*variable, kPrefix, kPrefixLength) == 0) read_variable(*variable + kPrefixLength);
  }
  if (parsed.verbose) print_options();
}

const Options& options() { return parsed; }

const char* program_name() { return name; }

const char* start_folder() { return folder; }

}  // namespace pktmalloc
