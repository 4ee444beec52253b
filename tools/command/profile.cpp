// SPDX-License-Identifier: MIT
// pktmalloc profile FILE [FILE2], or pktmalloc report profile FILE [FILE2]: which places of a
// program hold its memory, or what grew between two looks at it.
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "preload/formats/heap_profile.h"
#include "tools/command/failure.h"
#include "tools/command/file_kind.h"
#include "tools/command/profile/flame_graph.h"
#include "tools/command/profile/pprof.h"
#include "tools/command/profile/profile_table.h"
#include "tools/command/subcommands.h"
#include "tools/command/system/standard_error.h"
#include "tools/command/text/quantity.h"

namespace pktmalloc {
namespace {

struct Options {
  std::string file, second;
  std::vector<std::string> more;
  bool live = false, peak = false, total = false, temporary = false;
  bool leaks = false, collapsed = false, no_lines = false, unfolded = false, threads = false;
  std::string html, pprof;
  unsigned top = 20, frames = 8;

  bool chosen(Counted counted) const {
    const bool all[] = {live, peak, total, temporary};
    return all[static_cast<size_t>(counted)];
  }
};

// As the options choose; else what people look for, but for programs that read it and for growth:
// there always what is live.
Counted counted(const Options& options, const HeapProfile& profile) {
  std::optional<Counted> choice;
  for (const Counted each : kAllCounted) {
    if (!options.chosen(each)) continue;
    if (choice) {
      throw Failure("choose one of --{} and --{}", counted_option(*choice), counted_option(each));
    }
    choice = each;
  }
  if (options.leaks && choice.value_or(Counted::kLive) != Counted::kLive) {
    throw Failure("--leaks is about what is live");
  }
  if (choice && !profile.has(*choice)) {
    throw Failure(
        "{} does not tell it: a library that knew no peaks and no temporary objects "
        "wrote the file",
        profile.file);
  }
  if (choice) return *choice;
  return options.leaks || options.collapsed || !options.second.empty() ? Counted::kLive
                                                                       : foremost(profile);
}

std::string places_text(const ProfileTable& table) {
  return count_text(table.rows.size()) + (table.rows.size() == 1 ? " place" : " places");
}

// " +- 2.3 MiB", or nothing.
std::string error_text(const Estimate& estimate) {
  return estimate.error > 0 ? " +- " + bytes_text(estimate.error) : "";
}

// "also --peak 14.7 MiB +- 2.3 MiB, --total 2.1 GiB +- 32.0 MiB, --temporary 0 B"
void print_others(const HeapProfile& profile, Counted shown) {
  Estimates all;
  for (const HeapProfile::Place& place : profile.places) all += place.amounts;
  const char* before = "also";
  for (const Counted each : kAllCounted) {
    if (each == shown || !profile.has(each)) continue;
    fmt::print("{} --{} {}{}", before, counted_option(each), bytes_text(all[each].bytes),
               error_text(all[each]));
    before = ",";
  }
  fmt::print("\n");
}

void print_head(const HeapProfile& profile, const ProfileTable& table, Counted shown) {
  fmt::print("{}, process {}: {}{} in {} objects {}, in {}\n", profile.program, profile.pid,
             bytes_text(table.total.bytes), error_text(table.total),
             short_text(table.total.objects), counted_text(shown), places_text(table));
  print_others(profile, shown);
  if (profile.rate == 1) {
    fmt::print("every allocation was seen: the numbers are exact\n");
  } else if (profile.rate > 0) {
    fmt::print("one sample per {}: {} sample{}; +- is one standard error\n{}\n",
               bytes_text(static_cast<double>(profile.rate)), count_text(table.total.samples),
               table.total.samples == 1 ? "" : "s", missing_text(profile));
  }
  if (profile.lost > 0) {
    fmt::print("{} samples were lost for want of memory and are missing here\n",
               count_text(profile.lost));
  }
}

void print_frames(const ProfileRow& row, const Options& options) {
  const size_t count = std::min<size_t>(row.frames.size(), options.frames);
  for (size_t i = 0; i < count; ++i) fmt::print("    {}\n", frame_text(row.frames[i]));
  // The thread is outside of all.
  if (options.threads && count < row.frames.size()) {
    fmt::print("    {}\n", frame_text(row.frames.back()));
  }
}

void print_rest(const ProfileTable& table, size_t printed) {
  if (table.rows.size() == printed) return;
  fmt::print("\nand {} more; --top {} prints all\n", count_text(table.rows.size() - printed),
             table.rows.size());
}

std::string signed_bytes(double bytes) {
  return bytes < 0 ? "-" + bytes_text(-bytes) : "+" + bytes_text(bytes);
}

void print_rows(const ProfileTable& table, const Options& options, bool growth) {
  const size_t count = std::min<size_t>(table.rows.size(), options.top);
  for (size_t i = 0; i < count; ++i) {
    const ProfileRow& row = table.rows[i];
    const Estimate& a = row.amount;
    fmt::print("\n{:>10}", growth ? signed_bytes(a.bytes) : bytes_text(a.bytes));
    if (a.error > 0) fmt::print(" +- {:<9}", bytes_text(a.error));
    if (!growth && table.total.bytes > 0)
      fmt::print(" {:5.1f} %", 100 * a.bytes / table.total.bytes);
    fmt::print("  {} object{}", short_text(a.objects), a.objects == 1 ? "" : "s");
    if (a.error > 0) fmt::print(", {} sample{}", count_text(a.samples), a.samples == 1 ? "" : "s");
    fmt::print("\n");
    print_frames(row, options);
  }
  print_rest(table, count);
}

// What is still there, and how sure that is: two standard errors to either side, but never less
// than nothing.
void print_leaks(const HeapProfile& profile, const ProfileTable& table, const Options& options) {
  fmt::print("{}, process {}: {}{} still allocated in {} objects, in {}\n", profile.program,
             profile.pid, bytes_text(table.total.bytes), error_text(table.total),
             short_text(table.total.objects), places_text(table));
  if (profile.rate > 1) {
    fmt::print(
        "estimates from one sample per {}; the range holds the truth in 19 of 20 cases,\n"
        "but for places of fewer than five samples, which may be there by chance;\n{}\n",
        bytes_text(static_cast<double>(profile.rate)), missing_text(profile));
  }
  fmt::print("what is lost and what the program could still reach is not told apart\n");
  const size_t count = std::min<size_t>(table.rows.size(), options.top);
  for (size_t i = 0; i < count; ++i) {
    const Estimate& a = table.rows[i].amount;
    fmt::print("\n{:>10} in {} object{}", bytes_text(a.bytes), short_text(a.objects),
               a.objects == 1 ? "" : "s");
    if (a.error > 0) {
      fmt::print(", {} to {}, {} sample{}", bytes_text(std::max(0.0, a.bytes - 2 * a.error)),
                 bytes_text(a.bytes + 2 * a.error), count_text(a.samples),
                 a.samples == 1 ? "" : "s");
    } else if (profile.rate == 1) {
      fmt::print(", exactly");
    }
    fmt::print("\n");
    print_frames(table.rows[i], options);
  }
  print_rest(table, count);
}

void tell_changed(const Symbolizer& symbolizer) {
  for (const std::string& path : symbolizer.changed()) {
    tell(path + " is not the file that ran: its functions have no names here");
  }
}

HeapProfile read(const Options& options, const std::string& file) {
  HeapProfile profile = read_heap_profile(file);
  if (!options.threads && options.html.empty()) profile.forget_threads();
  return profile;
}

void over_time(const Options& options, const HeapProfile& first, Symbolizer& symbolizer,
               const std::unique_ptr<OutputFile>& page) {
  if (!page) throw Failure("more than two profiles make a page: --html PAGE");
  std::vector<std::string> files = {options.file, options.second};
  files.insert(files.end(), options.more.begin(), options.more.end());
  page->write(time_page(files, counted(options, first), symbolizer));
  tell_changed(symbolizer);
}

void growth(const Options& options, const HeapProfile& first, Symbolizer& symbolizer,
            const std::unique_ptr<OutputFile>& page) {
  const HeapProfile second = read(options, options.second);
  const Counted shown = counted(options, first);
  counted(options, second);
  const std::vector<NamedStack> stacks = compared_stacks(first, second, symbolizer);
  const ProfileTable table = profile_table(stacks, shown);
  tell_changed(symbolizer);
  if (page) return page->write(growth_page(stacks, first, second, shown));
  if (options.collapsed) {
    fmt::print("{}", collapsed_stacks(table));
    return;
  }
  fmt::print("{}: {}{} {}, from {} to {}\n", second.program, signed_bytes(table.total.bytes),
             error_text(table.total), counted_text(shown), options.file, options.second);
  print_rows(table, options, true);
}

void profile(const Options& options) {
  if (!options.second.empty() && !options.pprof.empty())
    throw Failure("--pprof writes one profile");
  const std::unique_ptr<OutputFile> page = output_at(options.html);
  const std::unique_ptr<OutputFile> proto = output_at(options.pprof);
  const HeapProfile first = read(options, options.file);
  Symbolizer symbolizer(!options.no_lines, !options.unfolded);
  if (!options.more.empty()) return over_time(options, first, symbolizer, page);
  if (!options.second.empty()) return growth(options, first, symbolizer, page);
  const Counted shown = counted(options, first);
  const std::vector<NamedStack> stacks = named_stacks(first, symbolizer);
  const ProfileTable table = profile_table(stacks, shown);
  tell_changed(symbolizer);
  if (page) page->write(flame_graph_page(stacks, first, shown));
  if (proto) proto->write(pprof_profile(stacks, first, shown));
  if (page || proto) return;
  if (options.collapsed) {
    fmt::print("{}", collapsed_stacks(table));
  } else if (options.leaks) {
    print_leaks(first, table, options);
  } else {
    print_head(first, table, shown);
    print_rows(table, options, false);
  }
}

}  // namespace

void add_profile(CommandLine& command) {
  const Subcommand sub =
      command.add_subcommand("profile",
                             "Which places of a program hold its memory, from a file of "
                             "PKTMALLOC_PROFILE; with two files, what grew between.");
  static Options options;
  sub.add_option("FILE", options.file, "a heap profile").required();
  sub.add_option("FILE2", options.second, "a later one of the same program: print what grew");
  sub.add_option("MORE", options.more, "later ones still: with --html, a page over time");
  sub.add_flag("--live", options.live,
               "what is live at the end (if none of these is given: this, or the peak if less "
               "than a tenth of it is still live)");
  sub.add_flag("--peak", options.peak, "what was live when the process held most");
  sub.add_flag("--total,--cumulative", options.total, "all that was allocated since start");
  sub.add_flag(
      "--temporary", options.temporary,
      fmt::format("what its thread freed before more than {} other allocations", kFewAllocations));
  sub.add_flag("--leaks", options.leaks, "what is still allocated, with how sure each estimate is");
  sub.accept_flag("--lines");
  sub.add_flag("--no-lines", options.no_lines,
               "neither source lines nor inlined functions, which llvm-symbolizer or addr2line "
               "tells where debug information is there");
  sub.add_flag("--unfolded", options.unfolded,
               "all frames of the C++ standard library, not only what the program called");
  sub.add_flag("--threads", options.threads,
               "each thread by itself, where PKTMALLOC_PROFILE_THREADS told them apart");
  sub.add_flag("--collapsed", options.collapsed,
               "a line a stack, for flamegraph.pl and speedscope");
  sub.add_option("--html", options.html,
                 "write a flame graph into this file, of two profiles one of what grew and what "
                 "shrank, of more one over time; - for stdout")
      .excludes("--collapsed");
  sub.add_option("--pprof", options.pprof,
                 "write all of these for pprof into this file, named; - for stdout");
  sub.add_option("--top", options.top, "so many places (20)").range(0, 1'000'000);
  sub.add_option("--frames", options.frames, "so many functions of each (8)").range(0, 1'000'000);
  sub.footer(
      "pktmalloc report profile is the same command.\n\n"
      "Example:\n"
      "  PKTMALLOC_PROFILE=server.%p.heap LD_PRELOAD=libpktmalloc.so ./server\n"
      "  pktmalloc profile server.4711.heap\n"
      "  pktmalloc profile --html heap.html server.4711.heap");
  sub.callback([] { profile(options); });
}

}  // namespace pktmalloc
