// SPDX-License-Identifier: MIT
#include "preload/base/options.h"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <climits>
#include <cstring>
#include <span>
#include <string_view>

#include "preload/base/message.h"
#include "preload/base/this_library.h"
#include "preload/contract/pktmalloc.h"
#include "preload/formats/heap_profile.h"
#include "sizeclass/base/clock.h"

namespace pktmalloc {
namespace {

alignas(64) constinit Options parsed{};  // holds the table's defaults from read_options() on

char folder[PATH_MAX];  // programs may change folder before they end

alignas(64) char name[NAME_MAX + 1];  // of the program; arguments get overwritten as well

bool equal(const char* a, const char* b) { return strcmp(a, b) == 0; }

struct Unit {
  std::string_view name;
  uint64_t factor;
};

constexpr Unit kOnes[] = {{"", 1}};
constexpr Unit kPercents[] = {{"%", 1}};
constexpr Unit kTimes[] = {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}};
constexpr Unit kBytes[] = {{"", 1},          {"K", 1 << 10}, {"KiB", 1 << 10}, {"M", 1 << 20},
                           {"MiB", 1 << 20}, {"G", 1 << 30}, {"GiB", 1 << 30}};

// A whole number followed by a unit, up to one of the characters of `ends` or the end of the text;
// false when it is anything else or out of range. Moves `text` past what it read.
bool read_quantity(const char*& text, std::span<const Unit> units, uint64_t least, uint64_t most,
                   uint64_t& out, const char* ends = ",") {
  uint64_t n = 0;
  const auto [behind, error] = std::from_chars(text, text + strlen(text), n);
  if (error != std::errc{}) return false;
  const std::string_view rest(behind), wanted = rest.substr(0, rest.find_first_of(ends));
  text = behind + wanted.size();
  for (const Unit& unit : units) {
    if (unit.name != wanted || n > most / unit.factor) continue;
    out = n * unit.factor;
    return out >= least;
  }
  return false;
}

// How the table's rows read a value. False: it is not understood.

// With a unit, and within bounds; or a word that stands for 0.
template <typename Number>
bool quantity(const char* value, std::span<const Unit> units, uint64_t least, uint64_t most,
              Number& out, const char* zero = nullptr) {
  uint64_t n = 0;
  const bool is_zero = zero != nullptr && equal(value, zero);
  if (!is_zero && (!read_quantity(value, units, least, most, n) || *value != '\0')) return false;
  out = static_cast<Number>(n);
  return true;
}

// One of these words, in the order of T's values.
template <typename T, typename... Words>
bool word(const char* value, T& out, const Words*... words) {
  unsigned place = 0;
  const bool known = ((equal(value, words) || (++place, false)) || ...);
  if (known) out = static_cast<T>(place);
  return known;
}

bool share(const char* value, MemoryShare& out) {
  out = {};
  return quantity(value, kPercents, 1, 100, out.percent) ||
         quantity(value, kBytes, 1 << 20, uint64_t{1} << 44, out.bytes, "0");
}

// Programs that set their title (redis, postgres) overwrite the environment. nullptr when it is too
// long for a path.
template <auto kMember>
const char* copied(const char* value) {
  static char copy[PATH_MAX];
  return strlen(value) < sizeof copy ? strcpy(copy, value) : nullptr;
}

// Nobody knows when libc's own function allocates.
void remember_folder() {
  const bool known = syscall(SYS_getcwd, folder, sizeof folder) > 0 && *folder == '/';
  if (!known) *folder = '\0';
}

// A single word is more likely a mistaken switch, such as "off", than a file to write.
template <auto kMember>
bool file(const char* value, Options& o) {
  const bool none = equal(value, "0");
  o.*kMember = none ? nullptr : copied<kMember>(value);
  if (o.*kMember != nullptr && *value != '/') remember_folder();
  const bool is_name = std::string_view(value).find_first_of("/.") != std::string_view::npos;
  return none || (is_name && o.*kMember != nullptr);
}

bool statistics(const char* value, Options& o) {
  if (!equal(value, "1")) return file<&Options::stats_path>(value, o);
  o.stats_path = "";
  return true;
}

bool next(const char* value, Options& o) {
  const bool none = equal(value, "default"), known = equal(value, "mimalloc");
  o.next_path = none ? nullptr : known ? "libmimalloc.so.2" : copied<&Options::next_path>(value);
  return none || known || (strchr(value, '/') != nullptr && o.next_path != nullptr);
}

// Items between commas, or none if the text is `none`. `read` reads one, moving `text` past it.
template <typename T, size_t kMost, typename Read>
bool list(const char*& text, const char* none, T (&items)[kMost], unsigned& count, Read read) {
  count = 0;
  if (equal(text, none)) return true;
  for (;; ++text) {
    if (count == kMost || !read(items[count++])) return false;
    if (*text == '\0') return true;
  }
}

bool classes(const char* value, Options& o) {
  const bool understood = list(value, "default", o.class_sizes, o.class_count, [&](size_t& bytes) {
    return read_quantity(value, kBytes, 1, 1 << 20, bytes);
  });
  std::sort(o.class_sizes, o.class_sizes + o.class_count);
  return understood;
}

bool reserves(const char* value, Options& o) {
  return list(value, "0", o.reserve, o.reserve_count, [&](Options::Reserve& reserve) {
    const bool understood = read_quantity(value, kBytes, 1, 1 << 20, reserve.bytes, ":") &&
                            *value++ == ':' &&
                            read_quantity(value, kOnes, 1, uint64_t{1} << 40, reserve.objects);
    o.reserve_huge = equal(value, ",huge");  // behind the last one
    if (o.reserve_huge) value += strlen(value);
    return understood;
  });
}

constexpr unsigned bit(LibraryKind kind) { return 1U << static_cast<unsigned>(kind); }
constexpr unsigned kAll = ~0U;
constexpr unsigned kHardened = bit(LibraryKind::kHardened);
constexpr unsigned kChecked = bit(LibraryKind::kChecked);
constexpr unsigned kUnchecked = kAll & ~kChecked;

struct Option {
  const char* name;
  const char* default_value;
  const char* accepted;
  bool (*read)(const char* value, Options& o);
  unsigned libraries;  // where it does something, 1 << kind each
  const char* given;   // in the environment
};

constexpr std::string_view kPrefix = "PKTMALLOC_";

constinit Option table[] = {
#define OPTION(NAME, library, run, field, reads, default_value, accepted, help) \
  {#NAME,      default_value, accepted, [](const char* value, Options& o) { return reads; },  \
   k##library, nullptr},
#include "preload/formats/options.def"
};

constexpr char kNames[] =
#define OPTION(NAME, ...) " PKTMALLOC_" #NAME
#include "preload/formats/options.def"
    ;

// "NAME=value", without the prefix.
void read_variable(const char* variable) {
  const char* equals = strchr(variable, '=');
  if (equals == nullptr) return;
  const size_t length = static_cast<size_t>(equals - variable);
  for (Option& option : table) {
    if (strlen(option.name) != length || strncmp(option.name, variable, length) != 0) continue;
    option.given = equals + 1;
    const Excerpt value(option.given, strlen(option.given));
    if (!option.read(option.given, parsed)) {
      message("PKTMALLOC_%s=%s is not understood; accepted: %s; using %s", option.name, value.text,
              option.accepted, option.default_value);
      option.given = nullptr;
      option.read(option.default_value, parsed);
    } else if ((option.libraries & bit(kThisLibrary)) == 0) {
      message("PKTMALLOC_%s=%s does nothing here: it is for %s", option.name, value.text,
              kLibraries[std::countr_zero(option.libraries)].file);
    }
    return;
  }
  message("unknown option PKTMALLOC_%s is ignored; the options are%s",
          Excerpt(variable, length).text, kNames);
}

void print_options() {
  message("version %s of %s", PKTMALLOC_VERSION, names_of(kThisLibrary).file);
  for (const Option& option : table) {
    message("PKTMALLOC_%s=%s (%s)", option.name,
            option.given != nullptr ? option.given : option.default_value,
            option.given != nullptr ? "environment" : "default");
  }
}

// Removes the entries with that file name from a list. True if any entry is left.
bool drop_entry(char* list, const char* file_name) {
  char* to = list;
  char* rest = list;
  while (char* entry = strsep(&rest, " :")) {
    if (*entry == '\0' || equal(basename(entry), file_name)) continue;
    if (to != list) *to++ = ':';
    const size_t length = strlen(entry);
    memmove(to, entry, length);
    to += length;
  }
  *to = '\0';
  return to != list;
}

}  // namespace

void read_options() {
  static bool done = false;
  // A program linked with -static may allocate before libc knows its name.
  strncpy(name, program_invocation_short_name, sizeof name - 1);
  hide_controls(name, strlen(name));  // reports have a line for it
  if (done) return;
  for (const Option& option : table) option.read(option.default_value, parsed);
  if (environ == nullptr) return;
  done = true;
  if (getauxval(AT_SECURE) != 0) return;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::string_view(*variable).starts_with(kPrefix)) read_variable(*variable + kPrefix.size());
  }
  if (parsed.verbose) print_options();
}

void leave_environment() {
  constexpr std::string_view kPreload = "LD_PRELOAD=";
  Dl_info here;
  if (environ == nullptr) return;
  if (dladdr(reinterpret_cast<void*>(&leave_environment), &here) == 0) return;
  const char* const file_name = basename(here.dli_fname);
  char** to = environ;
  for (char** from = environ; *from != nullptr; ++from) {
    const std::string_view variable = *from;
    const bool stays = variable.starts_with(kPreload)
                           ? drop_entry(*from + kPreload.size(), file_name)
                           : !variable.starts_with(kPrefix);
    if (stays) *to++ = *from;
  }
  *to = nullptr;
}

const Options& options() { return parsed; }

const char* program_name() { return name; }

Origin this_process() {
  return {program_name(), PKTMALLOC_VERSION, getpid(), clock_ns(CLOCK_REALTIME) / 1'000'000, 0};
}

const char* start_folder() { return folder; }

}  // namespace pktmalloc
