// SPDX-License-Identifier: MIT
// pktmalloc run [OPTIONS] [--] CMD ARGS...: becomes CMD, with the library preloaded.
//
// exec(3) replaces this process, so pid, parent, signals, standard streams and exit status are the
// command's own. If reports are wanted, it stays as the parent instead, to write them if CMD is
// killed (recovery/keeper.h). Whatever can be wrong is told before.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>

#include "preload/contract/quiet_write.h"
#include "tools/command/doctor/executable.h"
#include "tools/command/doctor/obstacle.h"
#include "tools/command/failure.h"
#include "tools/command/profile/flame_graph.h"
#include "tools/command/recovery/keeper.h"
#include "tools/command/recovery/recovery.h"
#include "tools/command/report/report_page.h"
#include "tools/command/subcommands.h"
#include "tools/command/system/become.h"
#include "tools/command/system/environment.h"
#include "tools/command/system/library.h"
#include "tools/command/system/next_library.h"
#include "tools/command/system/output_file.h"
#include "tools/command/system/target.h"
#include "tools/command/system/temporary_place.h"
#include "tools/command/text/path_pattern.h"
#include "tools/command/text/shell_words.h"

namespace pktmalloc {
namespace {

// As PKTMALLOC_STATS: text on stderr.
constexpr const char* kText = "1";

// Options whose value is that of a variable of the library, as it is.
struct Passed {
  const char *option, *variable, *help;
};
constexpr Passed kPassed[] = {
    {"--classes", "PKTMALLOC_CLASSES", "pool just these sizes, such as 64,1536,8KiB"},
    {"--reserve", "PKTMALLOC_RESERVE",
     "memory for so many objects of these sizes at start, such as 1536:1000000,64:4000000"},
    {"--hugepages", "PKTMALLOC_HUGEPAGES", "huge pages for objects: auto, never or madvise"},
    {"--limit", "PKTMALLOC_LIMIT",
     "the most memory for objects, such as 2GiB or 90%; beyond it, ENOMEM"},
    {"--soft-limit", "PKTMALLOC_SOFT_LIMIT", "free memory goes back at once above this"},
    {"--age", "PKTMALLOC_AGE", "memory goes back when unneeded for so long (250ms, 1s, 5m)"},
    {"--background", "PKTMALLOC_BACKGROUND", "the background thread: auto, 0 or 1"},
    {"--interval", "PKTMALLOC_STATS_INTERVAL",
     "statistics, profile and sizes also while running, such as 10s"},
    {"--rate", "PKTMALLOC_PROFILE_RATE",
     "heap profile: a sample per so many bytes, such as 64KiB; 1: every allocation, as with "
     "--leaks"},
    {"--stacks", "PKTMALLOC_PROFILE_STACKS", "heap profile: unwind or frame_pointers"},
    {"--depth", "PKTMALLOC_PROFILE_DEPTH", "heap profile: so many frames of a stack, 4 to 256"},
    {"--sample-guard", "PKTMALLOC_SAMPLE_GUARD",
     "guard one object in so many against wrong use, such as 5000"},
    {"--check", "PKTMALLOC_CHECK", "after a heap error: abort or report"},
    {"--clear", "PKTMALLOC_CLEAR", "of the hardened library: bytes of a freed object cleared"},
    {"--quarantine", "PKTMALLOC_QUARANTINE", "of the checked library: bytes of freed objects kept"},
    {"--quarantine-rate", "PKTMALLOC_QUARANTINE_RATE",
     "of the checked library: one freed object of so many is kept"},
    {"--guard", "PKTMALLOC_GUARD", "of the checked library: the size that gets guard pages"},
};

// Options whose value is a file that the library writes.
constexpr Passed kWritten[] = {
    {"--sizes", "PKTMALLOC_SIZES", "record the sizes asked for in this file, for pktmalloc tune"},
    {"--profile", "PKTMALLOC_PROFILE", "write a heap profile to this file, for pktmalloc profile"},
    {"--trace", "PKTMALLOC_TRACE",
     "record every call in this file, for pktmalloc replay; .zst: compressed"},
};

struct Options {
  std::string library, stats_file, next, page;
  std::string page_folder;  // of the files that the page is made from
  Environment passed, written;
  bool stats = false, leaks = false, canary = false, hardened = false, checked = false,
       only_this = false, control = false, verbose = false, force = false, dry_run = false;
};

constexpr const char* kLeaks = "PKTMALLOC_PROFILE_LEAKS";
// What is written to files.
constexpr const char* kReports[] = {"PKTMALLOC_STATS", "PKTMALLOC_PROFILE", "PKTMALLOC_SIZES",
                                    "PKTMALLOC_TRACE"};

// The library speaks of variables where the user wrote options.
std::string option_of(const std::string& variable) {
  for (const Passed& p : kPassed) {
    if (variable == p.variable) return p.option;
  }
  for (const Passed& p : kWritten) {
    if (variable == p.variable) return p.option;
  }
  return variable == "PKTMALLOC_STATS"  ? "--stats"
         : variable == "PKTMALLOC_NEXT" ? "--next"
                                        : variable;
}

bool has_any(const Environment& options, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const char* name) { return options.contains(name); });
}

// As said, or the one that the options are for.
LibraryKind wanted_kind(const Options& options) {
  if (options.checked) return LibraryKind::kChecked;
  if (options.hardened) return LibraryKind::kHardened;
  const Environment& passed = options.passed;
  if (has_any(passed, {"PKTMALLOC_QUARANTINE", "PKTMALLOC_QUARANTINE_RATE", "PKTMALLOC_GUARD"})) {
    return LibraryKind::kChecked;
  }
  if (options.canary || passed.contains("PKTMALLOC_CLEAR")) return LibraryKind::kHardened;
  const bool guards = passed.contains("PKTMALLOC_SAMPLE_GUARD");
  return passed.contains("PKTMALLOC_CHECK") && !guards ? LibraryKind::kChecked
                                                       : LibraryKind::kNormal;
}

Library library_for(const Options& options) {
  return options.library.empty() ? Library::find(wanted_kind(options)) : Library(options.library);
}

// What the library would find only when the program has ended.
void refuse_unwritable(const std::string& file) {
  namespace fs = std::filesystem;
  if (file == "-") {
    throw Failure("cannot write -: stdout is the program's; name a file, such as ./-");
  }
  std::error_code ignored;  // writing tells it
  const fs::file_status found = fs::status(file, ignored);
  if (fs::is_directory(found)) throw Failure("cannot write {}: it is a folder", file);
  if (fs::exists(found) && !fs::is_regular_file(found)) {
    if (access(file.c_str(), W_OK) == 0) return;
    throw Failure("cannot write {}: {}", file, strerror(errno));
  }
  const std::string folder = fs::absolute(file).lexically_normal().parent_path();
  if (folder.find('%') != std::string::npos) return;
  std::string name = folder + "/pktmalloc-XXXXXX";
  const int fd = mkostemp(name.data(), O_CLOEXEC);
  constexpr char kBlock[4096] = {};
  const bool is_written = fd >= 0 && write_all(fd, kBlock, sizeof kBlock);
  const int error = errno;
  if (fd >= 0) unlink(name.c_str());
  close(fd);
  if (is_written) return;
  throw Failure("cannot write {}: {} takes no file: {}", file, folder, strerror(error));
}

// Absolute, since the program may change its folder; %p, %e and %n in it are the library's.
std::string written_path(const std::string& file) {
  refuse_unwritable(file);
  std::error_code ignored;
  const bool names_descriptor = file.starts_with("/proc/") || file.starts_with("/dev/");
  if (!names_descriptor && std::filesystem::is_symlink(file, ignored)) {
    throw Failure("cannot write {}: it is a symbolic link, which the library does not follow",
                  file);
  }
  return absolute_pattern(file);
}

bool reports_meanwhile(const Environment& all) { return all.contains("PKTMALLOC_STATS_INTERVAL"); }

bool is_set(const char* variable) {
  const char* const value = getenv(variable);
  return value != nullptr && strcmp(value, "0") != 0;
}

// Is it said what to report meanwhile?
bool names_report(const Options& options) {
  for (const char* name : {"PKTMALLOC_STATS", "PKTMALLOC_PROFILE", "PKTMALLOC_SIZES"}) {
    if (options.written.contains(name) || is_set(name)) return true;
  }
  return false;
}

// What the program was, over time, and who held its memory.
void write_page(const Options& options, pid_t child, std::vector<Reading> readings) {
  const std::string files = options.page_folder + "/" + std::to_string(child);
  try {
    std::error_code ignored;
    if (std::filesystem::exists(files + ".json", ignored)) {
      readings.push_back(read_statistics(files + ".json"));
    }
    if (readings.empty()) throw Failure("there is no page: the program left no statistics");
    // Before that it was another program, such as a shell.
    const std::string program = readings.back().program;
    std::erase_if(readings, [&](const Reading& r) { return r.program != program; });
    const bool has_profile = std::filesystem::exists(files + ".heap", ignored);
    OutputFile(options.page)
        .write(page_of(series_of(std::move(readings)),
                       has_profile ? flame_graph_of(files + ".heap") : ""));
    tell(fmt::format("memory over time, and who held it: {}", options.page));
  } catch (const Failure& failure) {
    tell(failure.what());
  }
  std::error_code ignored;
  std::filesystem::remove_all(options.page_folder, ignored);
}

// Of a folder that is still empty, because nothing came of the command.
struct Removal {
  const std::string& folder;
  ~Removal() {
    if (!folder.empty()) rmdir(folder.c_str());
  }
};

// The page is made from statistics and a heap profile, in files that nobody else sees.
void prepare_page(Options& options) {
  refuse_unwritable(options.page);
  options.page = std::filesystem::absolute(options.page);
  std::string folder = temporary_place() + "/pktmalloc-page-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    throw Failure("run: cannot make the folder {}: {}", folder, strerror(errno));
  }
  options.page_folder = folder;
  options.stats_file = as_pattern(folder) + "/%p.json";
  options.written["PKTMALLOC_PROFILE"] = as_pattern(folder) + "/%p.heap";
}

// Stays with the program if anything is to be reported; where the first file will be, what is
// recorded meanwhile is, too. Returns in the process that is to become the program.
void keep_reports(const Options& options) {
  Keeping keeping;
  bool any = false;
  for (const char* variable : kReports) {
    any |= is_set(variable);
    if (is_set(variable) && strcmp(getenv(variable), kText) != 0) {
      keeping.files.push_back(getenv(variable));
    }
  }
  // Who has chosen a place for the recording wants to see to it himself.
  if (!any || is_set("PKTMALLOC_RECORDING")) return;
  keeping.reads_statistics = is_set("PKTMALLOC_STATS");
  if (!options.page.empty()) {
    keeping.untold = options.page_folder;
    keeping.at_end = [&options](pid_t child, std::vector<Reading> readings) {
      write_page(options, child, std::move(readings));
    };
  }
  keep(keeping);
}

// The options of the library.
Environment variables(const Options& options) {
  Environment all = options.passed;
  if (!options.stats_file.empty()) {
    all["PKTMALLOC_STATS"] = written_path(options.stats_file);
  } else if (options.stats || (reports_meanwhile(all) && !names_report(options))) {
    all["PKTMALLOC_STATS"] = kText;
  }
  for (const auto& [name, file] : options.written) all[name] = written_path(file);
  if (options.leaks) all[kLeaks] = "1";
  if (options.canary) all["PKTMALLOC_CANARY"] = "1";
  if (options.verbose) all["PKTMALLOC_VERBOSE"] = "1";
  if (options.control) all["PKTMALLOC_CONTROL"] = "1";
  if (options.only_this) all["PKTMALLOC_CHILDREN"] = "0";
  return all;
}

// Each would replace what the other wrote.
void refuse_one_file_for_two(const Environment& all) {
  std::map<std::string, std::string> options;  // by their file
  for (const char* variable : kReports) {
    const auto given = all.find(variable);
    if (given == all.end() || given->second == kText) continue;
    const auto [other, is_new] = options.emplace(given->second, variable);
    if (!is_new) {
      throw Failure("run: {} and {} name the same file, {}", option_of(other->second),
                    option_of(variable), given->second);
    }
  }
}

// What the library would say of its options only when the program is running already.
void check_options(const Library& library, Environment all) {
  // Writes no file, and stands for all that the interval is for.
  if (all.contains("PKTMALLOC_STATS") || reports_meanwhile(all)) all["PKTMALLOC_STATS"] = kText;
  for (const Passed& p : kWritten) all.erase(p.variable);
  all.erase("PKTMALLOC_VERBOSE");
  all.erase(kLeaks);
  const std::string objection = library.objection(all);
  if (objection.empty()) return;
  const size_t variable = std::min(objection.find('='), objection.size());
  throw Failure("run: {}{}", option_of(objection.substr(0, variable)), objection.substr(variable));
}

// What would do nothing, without a word or with one from the running program only.
void refuse_without_effect(const Options& options) {
  if (wanted_kind(options) == LibraryKind::kChecked) {
    for (const char* variable : {"PKTMALLOC_TRACE", "PKTMALLOC_SIZES"}) {
      if (!options.written.contains(variable)) continue;
      throw Failure("run: {} does nothing in the checked library: record in a run without it",
                    option_of(variable));
    }
  }
  const bool profiles = options.leaks || options.written.contains("PKTMALLOC_PROFILE") ||
                        is_set("PKTMALLOC_PROFILE") || is_set(kLeaks);
  for (const char* variable :
       {"PKTMALLOC_PROFILE_RATE", "PKTMALLOC_PROFILE_STACKS", "PKTMALLOC_PROFILE_DEPTH"}) {
    if (profiles || !options.passed.contains(variable)) continue;
    throw Failure("run: {} is of the heap profile: give --profile FILE or --leaks, too",
                  option_of(variable));
  }
}

// Ours, the next allocator if it is preloaded, then what is there without any of ours.
std::string preload_value(const Library& library, const std::string& next) {
  std::string value = library.path();
  if (!next.empty()) value += " " + next;
  for (const std::string& other : preloads(value_of(own_environment(), "LD_PRELOAD"))) {
    if (!is_our_library(other) && other != next) value += " " + other;
  }
  return value;
}

// Its own library would come before, and another one is wanted.
void refuse_archive(const std::string& command, const Target& target, const Options& options) {
  const LibraryKind kind = wanted_kind(options);
  if (options.library.empty() && kind == LibraryKind::kNormal) return;
  if (!holds_archive(target.file)) return;
  throw Failure(
      "{} cannot run so: it holds libpktmalloc.a, which comes before {} (--force starts "
      "it all the same.)",
      command,
      options.library.empty() ? fmt::format("the {} library", names_of(kind).word)
                              : options.library);
}

Target target_of(const std::string& command, const Options& options) {
  try {
    return find_target(command);
  } catch (const Failure& failure) {
    if (!options.stats || !options.stats_file.empty()) throw;
    throw Failure("{}; a file for statistics is named by --stats={}", failure.what(), command);
  }
}

// What a run before has left must not pass for a result of this one, which may write none.
void remove_old(const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const bool known = file.find('%') == std::string::npos;
  if (known && fs::is_regular_file(fs::symlink_status(file, ignored))) fs::remove(file, ignored);
}

void refuse_obstacle(const std::string& command, const Target& target, const Library& library) {
  const std::optional<Finding> obstacle = find_obstacle(target.file, library);
  if (!obstacle) return;
  throw Failure("{} cannot run with the library. {} {} (--force starts it all the same.)", command,
                obstacle->says, obstacle->advice);
}

void print(const Environment& environment, const UserCommand& words) {
  for (const auto& [name, value] : environment) {
    fmt::print("{}={} \\\n", name, shell_word(value));
  }
  fmt::print("{}\n", shell_line(words));
}

void run(Options options, UserCommand words) {
  if (words.empty()) throw Failure("run: a command is missing, such as: pktmalloc run ls -l");
  const Target target = target_of(words[0], options);
  const Library library = library_for(options);
  if (!options.force) {
    refuse_archive(words[0], target, options);
    refuse_obstacle(words[0], target, library);
  }
  const Removal removal{options.page_folder};
  if (!options.page.empty()) prepare_page(options);
  refuse_without_effect(options);
  Environment environment = variables(options);
  const NextLibrary next = find_next_library(options.next);
  if (!next.variable.empty()) environment["PKTMALLOC_NEXT"] = next.variable;
  check_options(library, environment);
  refuse_one_file_for_two(environment);
  environment["LD_PRELOAD"] = preload_value(library, next.preload);
  if (options.only_this && !target.without_env.empty()) {
    // env would be the one program that the library serves.
    words.erase(words.begin());
    words.insert(words.begin(), target.without_env.begin(), target.without_env.end());
  }
  if (options.dry_run) return print(environment, words);
  // exec keeps the pid, so the library can tell this process, not its children, where the file is.
  const bool tells = !options.stats_file.empty() || !options.written.empty();
  if (tells && options.page.empty()) environment["PKTMALLOC_TELL"] = std::to_string(getpid());
  if (!options.stats_file.empty()) remove_old(options.stats_file);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  for (const char* variable : kReports) {
    const auto given = environment.find(variable);
    if (given == environment.end() || given->second == kText) continue;
    setenv(variable, with_files_of_children(given->second).c_str(), 1);
  }
  keep_reports(options);
  become(words);
  throw Failure("cannot execute {}: {}", words[0], strerror(errno));
}

}  // namespace

void add_run(CommandLine& command, const UserCommand& words) {
  const Subcommand run = command.add_subcommand("run", "Run a command with the library.");
  static Options options;
  static UserCommand shown;  // stays empty: main() has cut the command off
  run.add_option("CMD", shown, "the command with its arguments; -- may stand before it");
  const Option stats = run.add_option("--stats", options.stats_file,
                                      "statistics at the end, as text on stderr or in FILE: "
                                      ".json, .prom or text; %p is the process id");
  stats.value_is_optional().type_name("[=FILE]");
  for (const Passed& p : kPassed) {
    run.add_option(
        p.option, [&p](const std::string& value) { options.passed[p.variable] = value; }, p.help);
  }
  for (const Passed& p : kWritten) {
    run.add_option(
           p.option, [&p](const std::string& file) { options.written[p.variable] = file; }, p.help)
        .type_name("FILE");
  }
  run.add_flag("--leaks", options.leaks,
               "heap profile: at exit print to stderr which places still hold the most memory");
  run.add_flag("--canary", options.canary,
               "of the hardened library: bytes behind each object that show an overflow");
  run.add_option("--next", options.next,
                 "who serves what is not pooled: default, mimalloc, jemalloc, tcmalloc or a path");
  run.add_flag("--control", options.control,
               "it obeys pktmalloc tell: reports and trim while it runs");
  run.add_flag("--only-this", options.only_this, "not the programs that it starts");
  run.add_flag("--verbose", options.verbose, "the library prints its version and options at start");
  run.add_flag("--hardened", options.hardened, "the hardened library, which stops wrong frees");
  run.add_flag("--checked", options.checked, "the checked library, which finds heap errors")
      .excludes("--hardened");
  run.add_option("--library", options.library, "this libpktmalloc.so")
      .excludes("--hardened")
      .excludes("--checked");
  run.add_flag("--force", options.force, "also where preloading is known not to work");
  run.add_flag("--dry-run", options.dry_run,
               "print the environment and command instead, for a shell");
  run.add_option("--page", options.page,
                 "write a page of its whole life to this file: memory over time, and who held it")
      .excludes("--stats")
      .excludes("--profile")
      .excludes("--dry-run")
      .type_name("FILE");
  run.footer("Example: pktmalloc run --stats=redis.json -- redis-server --port 7000");
  run.callback([stats, &words] {
    options.stats = stats.is_given();
    pktmalloc::run(options, words);
  });
}

}  // namespace pktmalloc
