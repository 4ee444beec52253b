// SPDX-License-Identifier: MIT
// pktmalloc run [OPTIONS] [--] CMD ARGS...: becomes CMD, with the library preloaded.
//
// exec(3) replaces this process, so pid, parent, signals, standard streams and exit status are the
// command's own. If reports are wanted, it stays as the parent instead, to write them if CMD is
// killed, and to look for leaks (recovery/keeper.h). Whatever can be wrong is told before.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>

#include "preload/formats/descriptor_name.h"
#include "preload/formats/quiet_write.h"
#include "tools/command/doctor/executable.h"
#include "tools/command/doctor/obstacle.h"
#include "tools/command/failure.h"
#include "tools/command/file_kind.h"
#include "tools/command/heap/census_table.h"
#include "tools/command/heap/leak_check.h"
#include "tools/command/heap/peak_types.h"
#include "tools/command/profile/flame_graph.h"
#include "tools/command/recovery/keeper.h"
#include "tools/command/recovery/recovery.h"
#include "tools/command/report/report_page.h"
#include "tools/command/subcommands.h"
#include "tools/command/system/become.h"
#include "tools/command/system/environment.h"
#include "tools/command/system/library.h"
#include "tools/command/system/next_library.h"
#include "tools/command/system/standard_error.h"
#include "tools/command/system/target.h"
#include "tools/command/system/temporary_place.h"
#include "tools/command/text/path_pattern.h"
#include "tools/command/text/quantity.h"
#include "tools/command/text/shell_words.h"

namespace pktmalloc {
namespace {

// As PKTMALLOC_STATS: text on stderr.
constexpr const char* kText = "1";

// Where a variable of the library does something, and what run has in its place.
enum class In { All, Unchecked, Hardened, Checked };
enum class As { Nothing, Own, Flag, File, Value };

struct Variable {
  std::string_view name;
  In library;
  As kind;
  const char *accepted, *help;

  // --interval of PKTMALLOC_STATS_INTERVAL, --rate of PKTMALLOC_PROFILE_RATE.
  std::string option() const {
    std::string_view word = name.substr(strlen("PKTMALLOC_"));
    for (const std::string_view group : {"STATS_", "PROFILE_"}) {
      if (word.starts_with(group)) word.remove_prefix(group.size());
    }
    std::string option = "--";
    for (const char c : word) option += c == '_' ? '-' : static_cast<char>(tolower(c));
    return option;
  }

  // What it is about, without the details.
  std::string about() const {
    const std::string about(help, strcspn(help, ";"));
    return kind == As::Value ? fmt::format("{} ({})", about, accepted) : about;
  }
};

constexpr Variable kVariables[] = {
#define OPTION(NAME, library, run, field, reads, default_value, accepted, help) \
  {"PKTMALLOC_" #NAME, In::library, As::run, accepted, help},
#include "preload/formats/options.def"
};

struct Options {
  std::string library, stats_file, next, page;
  std::string page_folder;  // of the files that the page is made from
  std::string leak_status, suppressions;
  Environment passed, written;
  std::map<std::string_view, bool> flags;  // by their variables
  bool stats = false, leak_check = false, hardened = false, checked = false, only_this = false,
       force = false, dry_run = false;
};

constexpr const char *kLeaks = "PKTMALLOC_PROFILE_LEAKS", *kRate = "PKTMALLOC_PROFILE_RATE";
// What is written to files.
constexpr const char* kReports[] = {"PKTMALLOC_STATS", "PKTMALLOC_PROFILE", "PKTMALLOC_SIZES",
                                    "PKTMALLOC_TRACE"};

// The library speaks of variables where the user wrote options.
std::string option_of(const std::string& variable) {
  for (const Variable& v : kVariables) {
    if (variable == v.name && v.kind != As::Nothing) return v.option();
  }
  return variable;
}

bool has_any_of(In library, const Environment& options) {
  return std::any_of(std::begin(kVariables), std::end(kVariables), [&](const Variable& v) {
    return v.library == library && options.contains(std::string(v.name));
  });
}

// As said, or the one that the options are for.
LibraryKind wanted_kind(const Options& options) {
  if (options.checked) return LibraryKind::kChecked;
  if (options.hardened) return LibraryKind::kHardened;
  const Environment& passed = options.passed;
  if (has_any_of(In::Checked, passed)) return LibraryKind::kChecked;
  if (has_any_of(In::Hardened, passed)) return LibraryKind::kHardened;
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
  if (fs::exists(found) && (names_descriptor(file) || !fs::is_regular_file(found))) {
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
  if (!names_descriptor(file) && std::filesystem::is_symlink(file, ignored)) {
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

void add_types(Holders& holders, const PeakTypes& peak, double begin) {
  constexpr size_t kMost = 20;
  const Census& census = peak.census();
  std::map<std::string, Count> types;  // of all sizes
  for (const Count& each : census.types) {
    Count& sum = types[each.type];
    sum.type = each.type;
    sum.objects += each.objects;
    sum.bytes += each.bytes;
  }
  std::vector<Count> rows;
  for (auto& [name, count] : types) rows.push_back(std::move(count));
  sort(rows, CensusOrder::kBytes);
  rows.resize(std::min(rows.size(), kMost));
  for (const Count& row : rows) {
    holders.types.push_back({row.type.empty() ? "-" : row.type, count_text(row.objects),
                             bytes_text(row.bytes), share_text(row.bytes, census.bytes())});
  }
  holders.types_when = "after " + duration_text(1e3 * (peak.time() - begin));
}

// Written at exit, and meanwhile where an interval is given.
std::vector<std::string> profiles_of(const Options& options, pid_t child) {
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(options.page_folder, ignored)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(fmt::format("{}.", child)) && name.ends_with(".heap")) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

// What the program was, over time, and what held its memory.
void write_page(const Options& options, pid_t child, std::vector<Reading> readings,
                const PeakTypes& peak) {
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
    Holders holders;
    if (peak.program() == program) add_types(holders, peak, readings.front().time);
    if (const std::vector<std::string> heaps = profiles_of(options, child); !heaps.empty()) {
      holders.flame_graph = flame_graph_of(heaps);
    }
    OutputFile(options.page).write(page_of(series_of(std::move(readings)), holders));
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

// The page is made from statistics and a heap profile, where the library has one, in files that
// nobody else sees.
void prepare_page(Options& options, const Library& library) {
  refuse_unwritable(options.page);
  refuse_recording(options.page);
  options.page = std::filesystem::absolute(options.page);
  std::string folder = temporary_place() + "/pktmalloc-page-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    throw Failure("run: cannot make the folder {}: {}", folder, strerror(errno));
  }
  options.page_folder = folder;
  options.stats_file = as_pattern(folder) + "/%p.json";
  if (library.kind() != LibraryKind::kChecked) {
    options.written["PKTMALLOC_PROFILE"] = as_pattern(folder) + "/%p.%n.heap";
  }
}

// Stays with the program if anything is to be reported or looked for; where the first file will be,
// what is recorded meanwhile is, too. Returns in the process that is to become the program.
void keep_reports(const Options& options, LeakCheck* leaks) {
  Keeping keeping;
  PeakTypes peak;
  if (leaks != nullptr) {
    keeping.at_start = [=] { leaks->begin(); };
    keeping.at_exit = [=](pid_t child, int status) { leaks->end(child, status); };
  }
  for (const char* variable : kReports) {
    keeping.records |= is_set(variable);
    if (is_set(variable) && strcmp(getenv(variable), kText) != 0) {
      keeping.files.push_back(getenv(variable));
    }
  }
  // Who has chosen a place for the recording wants to see to it himself.
  if (is_set("PKTMALLOC_RECORDING")) keeping.records = false;
  if (!keeping.records && leaks == nullptr) return;
  keeping.reads_statistics = is_set("PKTMALLOC_STATS");
  if (!options.page.empty()) {
    keeping.untold = options.page_folder;
    keeping.at_reading = [&peak](const Reading& reading) { peak.see(reading); };
    keeping.at_end = [&](pid_t child, std::vector<Reading> readings) {
      write_page(options, child, std::move(readings), peak);
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
  if (options.only_this) all["PKTMALLOC_CHILDREN"] = "0";
  // A leak has a place only if it is a sample.
  if (options.leak_check && all.contains("PKTMALLOC_PROFILE")) all.try_emplace(kRate, "1");
  return all;
}

// Each would replace what the other wrote.
void refuse_one_file_for_two(const Environment& all, const std::string& page) {
  std::map<std::string, std::string> options;  // by their file
  const auto file = [](const std::string& path) {
    return std::filesystem::path(path).lexically_normal().string();
  };
  if (!page.empty()) options.emplace(file(as_pattern(page)), "--page");
  for (const char* variable : kReports) {
    const auto given = all.find(variable);
    if (given == all.end() || given->second == kText) continue;
    const auto [other, is_new] = options.emplace(file(given->second), variable);
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
  for (const Variable& v : kVariables) {
    if (v.kind == As::File) all.erase(std::string(v.name));
  }
  all.erase("PKTMALLOC_VERBOSE");
  all.erase(kLeaks);
  const std::string objection = library.objection(all);
  if (objection.empty()) return;
  const size_t variable = std::min(objection.find('='), objection.size());
  throw Failure("run: {}{}", option_of(objection.substr(0, variable)), objection.substr(variable));
}

// What would do nothing, without a word or with one from the running program only.
void refuse_without_effect(const Options& options, const Library& library) {
  if (library.kind() == LibraryKind::kChecked) {
    for (const char* variable :
         {"PKTMALLOC_TRACE", "PKTMALLOC_SIZES", "PKTMALLOC_PROFILE", kLeaks}) {
      if (!options.written.contains(variable) && !options.passed.contains(variable)) continue;
      throw Failure("run: {} does nothing in the checked library: record in a run without it",
                    option_of(variable));
    }
  }
  const bool profiles = options.passed.contains(kLeaks) ||
                        options.written.contains("PKTMALLOC_PROFILE") ||
                        is_set("PKTMALLOC_PROFILE") || is_set(kLeaks);
  for (const char* variable : {"PKTMALLOC_PROFILE_RATE", "PKTMALLOC_PROFILE_STACKS",
                               "PKTMALLOC_PROFILE_DEPTH", "PKTMALLOC_PROFILE_THREADS"}) {
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

// Of a process that loses something.
int leak_status(const Options& options) {
  if (options.leak_status.empty()) return 23;  // as LeakSanitizer's
  int status = 0;
  const char* const end = options.leak_status.data() + options.leak_status.size();
  const auto [rest, error] = std::from_chars(options.leak_status.data(), end, status);
  if (error == std::errc{} && rest == end && status >= 0 && status <= 255) return status;
  throw Failure("run: --leak-check={} is not understood; accepted: a status of 0 to 255",
                options.leak_status);
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
  if (!options.page.empty()) prepare_page(options, library);
  refuse_without_effect(options, library);
  Environment environment = variables(options);
  const NextLibrary next = find_next_library(options.next);
  if (!next.variable.empty()) environment["PKTMALLOC_NEXT"] = next.variable;
  check_options(library, environment);
  refuse_one_file_for_two(environment, options.page);
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
  std::optional<LeakCheck> leaks;
  if (options.leak_check) {
    const std::string& file = options.suppressions;
    leaks.emplace(leak_status(options), file.empty() ? Suppressions() : Suppressions(file));
  }
  keep_reports(options, leaks ? &*leaks : nullptr);
  become(words);
  throw Failure("cannot execute {}: {}", words[0], strerror(errno));
}

}  // namespace

void add_run(CommandLine& command, const UserCommand& words) {
  const Subcommand run = command.add_subcommand("run", "Run a command with the library.");
  static Options options;
  static std::vector<std::string> shown;  // stays empty: main() has cut the command off
  run.add_option("CMD", shown, "the command with its arguments; -- may stand before it");
  const Option stats = run.add_option("--stats", options.stats_file,
                                      "statistics at the end, as text on stderr or in FILE: "
                                      ".json, .prom or text; %p is the process id");
  stats.value_is_optional().type_name("[=FILE]");
  const Option leak_check = run.add_option("--leak-check", options.leak_status,
                                           "tell at exit what can no longer be reached; a process "
                                           "that lost something for sure ends with "
                                           "this status, by default 23");
  leak_check.value_is_optional().type_name("[=STATUS]");
  run.add_option("--suppressions", options.suppressions,
                 "leaks that are not to be told: lines leak:pattern, for types")
      .needs("--leak-check")
      .type_name("FILE");
  for (const Variable& v : kVariables) {
    const std::string name(v.name);
    if (v.kind == As::Flag) run.add_flag(v.option(), options.flags[v.name], v.about());
    if (v.kind != As::File && v.kind != As::Value) continue;
    Environment& given = v.kind == As::File ? options.written : options.passed;
    run.add_option(
           v.option(), [&given, name](const std::string& value) { given[name] = value; }, v.about())
        .type_name(v.kind == As::File ? "FILE" : "VALUE");
  }
  run.add_option("--next", options.next,
                 "who serves what is not pooled: default, mimalloc, jemalloc, tcmalloc or a path");
  run.add_flag("--only-this", options.only_this, "not the programs that it starts");
  run.add_flag("--hardened", options.hardened, "the hardened library, which stops wrong frees");
  run.add_flag("--checked", options.checked, "the checked library, which finds heap errors")
      .excludes("--hardened");
  run.add_option("--library", options.library, "this libpktmalloc.so")
      .excludes("--hardened")
      .excludes("--checked");
  run.add_flag("--force", options.force, "also where preloading is known not to work");
  run.add_flag("--dry-run", options.dry_run,
               "print the environment and command instead, for a shell")
      .excludes("--leak-check");
  run.add_option("--page", options.page,
                 "write a page of its whole life to this file: memory over time, and who held it")
      .excludes("--stats")
      .excludes("--profile")
      .excludes("--dry-run")
      .type_name("FILE");
  run.footer("Example: pktmalloc run --stats=redis.json -- redis-server --port 7000");
  run.callback([stats, leak_check, &words] {
    options.stats = stats.is_given();
    options.leak_check = leak_check.is_given();
    for (const auto& [name, given] : options.flags) {
      if (given) options.passed[std::string(name)] = "1";
    }
    pktmalloc::run(options, words);
  });
}

}  // namespace pktmalloc
