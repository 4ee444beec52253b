// SPDX-License-Identifier: MIT
// The checked library: each finding with its exact first line, what follows a report, and correct
// programs, of which nothing may be said.
#include <catch2/catch.hpp>

#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/program.h"
#include "tests/temporary_folder.h"

namespace {

Program checked(std::vector<std::string> argv) {
  Program program(std::move(argv));
  program.with("LD_PRELOAD", build_path("libpktmalloc-checked.so"));
  return program;
}

Program fault(const std::string& name) {
  return checked({program_path("faults", "checked"), name}).with("PKTMALLOC_GUARD", "1472");
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

std::string hexadecimal(uint64_t n) {
  std::ostringstream text;
  text << "0x" << std::hex << n;
  return text.str();
}

struct Row {
  std::string name;
  std::string text;  // * stands for the address that the program shows, plus `offset`
  std::string in;    // the function that the first line names; "": none
  long offset = 0;
};

std::string expected(const Row& row, const std::string& shown) {
  const uint64_t address = strtoull(shown.c_str(), nullptr, 16) + static_cast<uint64_t>(row.offset);
  std::string text = "pktmalloc: " + row.text;
  text.replace(text.find('*'), 1, hexadecimal(address));
  return row.in.empty() ? text : text + ", in " + row.in + " of faults-checked";
}

const Row kRows[] = {
    {"double_free", "double free of *, an object of 100 bytes", "frees"},
    {"double_free_large", "double free of *, an object of 1000000 bytes", "frees"},
    {"double_free_guarded", "double free of *, an object of 1472 bytes", "frees"},
    {"double_free_in_turn", "double free of *, an object of 100 bytes", "frees"},
    {"double_free_in_static", "double free of *, an object of 100 bytes", "frees_in_secret"},
    {"double_free_on_small_stack", "double free of *, an object of 100 bytes", "frees"},
    {"free_inside", "free of *: 24 bytes inside an object of 100 bytes", "frees_inside", 24},
    {"free_inside_large", "free of *: 24 bytes inside an object of 1000000 bytes", "frees_inside",
     24},
    {"free_inside_aligned", "free of *: 24 bytes inside an object of 512 bytes", "frees_inside",
     24},
    {"free_before", "free of *: 16 bytes before an object of 100 bytes", "frees_before", -16},
    {"free_static", "free of *, static data of faults-checked", "frees"},
    {"free_stack", "free of *, on the stack", "frees"},
    {"free_thread_stack", "free of *, on the stack", "frees"},
    {"free_unmapped", "free of *, where nothing is mapped", "frees"},
    {"free_never_allocated", "free of *, a heap address that was never handed out", "frees"},
    {"realloc_static", "realloc of *, static data of faults-checked", "reallocs"},
    {"realloc_inside", "realloc of *: 16 bytes inside an object of 100 bytes", "reallocs_inside",
     16},
    {"realloc_freed", "realloc of * after it was freed: an object of 100 bytes", "reallocs"},
    {"size_of_static", "malloc_usable_size of *, static data of faults-checked", "asks_size"},
    {"size_of_freed", "malloc_usable_size of * after it was freed: an object of 100 bytes",
     "asks_size"},
    {"delete_size", "operator delete of * with 64 bytes: an object of 100 bytes", "deletes_64"},
    {"delete_alignment",
     "operator delete of * with alignment 32: an object of 100 bytes, allocated with 64",
     "deletes_32_aligned"},
    {"delete_without_alignment",
     "operator delete of * without alignment: an object of 100 bytes, allocated with 64",
     "deletes"},
    {"delete_of_unaligned",
     "operator delete of * with alignment 32: an object of 100 bytes, allocated without",
     "deletes_32_aligned"},
    {"free_size", "free_sized of * with 64 bytes: an object of 100 bytes", "frees_64"},
    {"free_alignment",
     "free_aligned_sized of * with alignment 128: an object of 512 bytes, allocated with 256",
     "frees_128_aligned"},
    {"free_of_new", "free of *, which operator new allocated: an object of 100 bytes", "frees"},
    {"delete_of_malloc", "operator delete of *, which malloc allocated: an object of 100 bytes",
     "deletes"},
    {"delete_of_array",
     "operator delete of *, which operator new[] allocated: an object of 100 bytes", "deletes"},
    {"array_delete_of_new",
     "operator delete[] of *, which operator new allocated: an object of 100 bytes",
     "deletes_array"},
    {"realloc_of_new", "realloc of *, which operator new allocated: an object of 100 bytes",
     "reallocs"},
    {"past_end", "write past the end of *, an object of 100 bytes: byte 100 is 0x41",
     "writes_behind"},
    {"past_end_large", "write past the end of *, an object of 1000000 bytes: byte 1000000 is 0x41",
     "writes_behind_large"},
    {"past_end_live", "write past the end of *, an object of 100 bytes: byte 103 is 0x41", ""},
    {"past_end_realloc", "write past the end of *, an object of 100 bytes: byte 100 is 0x41",
     "writes_behind_and_grows"},
    {"before_start", "write before the start of *, an object of 100 bytes", "writes_before"},
    {"far_before_start", "free of *: the bytes in front of it are destroyed", "writes_far_before"},
    {"far_before_start_large", "free of *: the bytes in front of it are destroyed",
     "writes_far_before"},
    {"far_before_start_guarded", "free of *: the bytes in front of it are destroyed",
     "writes_far_before"},
    {"after_free", "write after free to *, an object of 100 bytes: byte 40 is 0x41", ""},
    {"after_free_large", "write after free to *, an object of 1000000 bytes: byte 40 is 0x41", ""},
    {"after_free_long", "write after free to *, an object of 100 bytes: byte 40 is 0x41", ""},
    {"guard_write", "write past the end of *, an object of 1472 bytes: byte 1472",
     "writes_into_guard"},
    {"guard_read", "read past the end of *, an object of 1472 bytes: byte 1475", "reads_guard"},
};

bool has_stack(const std::string& report, const std::string& title, const std::string& function) {
  const size_t at = report.find("  " + title + ":\n    #0  " + function + "+0x");
  return at != std::string::npos && report.find(" main+0x", at) != std::string::npos;
}

}  // namespace

TEST_CASE("each finding is told with its exact first line, and the program is aborted") {
  for (const Row& row : kRows) {
    const Outcome outcome = fault(row.name).run();
    INFO(row.name << ": " << outcome);
    CHECK(outcome.signal == SIGABRT);
    CHECK(first_line(outcome.err) == expected(row, outcome.out));
  }
}

TEST_CASE("with PKTMALLOC_CHECK=report the program goes on, and each fault is told once") {
  for (const Row& row : kRows) {
    const Outcome outcome = fault(row.name).with("PKTMALLOC_CHECK", "report").run();
    INFO(row.name << ": " << outcome);
    CHECK(outcome.status == 7);
    CHECK(first_line(outcome.err) == expected(row, outcome.out));
    CHECK(outcome.err.find("pktmalloc:", 1) == std::string::npos);
  }
}

TEST_CASE("a report has the stacks of the call, of the allocation and of the first free") {
  const Outcome freed = fault("double_free").run();
  INFO(freed);
  CHECK(has_stack(freed.err, "found in", "frees"));
  CHECK(has_stack(freed.err, "allocated in", "freed_allocation"));
  CHECK(has_stack(freed.err, "first freed in", "freed_allocation"));
  const Outcome written = fault("guard_write").run();
  INFO(written);
  CHECK(has_stack(written.err, "found in", "writes_into_guard"));
  CHECK(has_stack(written.err, "allocated in", "whole_guarded"));
  CHECK(written.err.find("freed") == std::string::npos);
}

TEST_CASE("stacks are the same when one place is reached by two ways") {
  const Outcome outcome = fault("two_ways").run();
  INFO(outcome);
  CHECK(has_stack(outcome.err, "allocated in", "leaf"));
  CHECK(outcome.err.find("second_way+0x") != std::string::npos);
  CHECK(outcome.err.find("first_way+0x") == std::string::npos);
}

TEST_CASE("names of C++ are as in the source, or as the linker knows them if the program goes on") {
  const Row row{"double_free_in_method", "double free of *, an object of 100 bytes",
                "(anonymous namespace)::Owner::gives_back(void*, int)"};
  const Outcome aborted = fault(row.name).run();
  INFO(aborted);
  CHECK(first_line(aborted.err) == expected(row, aborted.out));
  CHECK(has_stack(aborted.err, "found in", row.in));
  const Row mangled{row.name, row.text, "_ZN12_GLOBAL__N_15Owner10gives_backEPvi"};
  const Outcome reported = fault(row.name).with("PKTMALLOC_CHECK", "report").run();
  INFO(reported);
  CHECK(first_line(reported.err) == expected(mangled, reported.out));
}

TEST_CASE("a program without names is told by its offsets, and libraries by what they export") {
  TemporaryFolder folder;
  const std::string copy = folder / "faults-checked";
  std::filesystem::copy_file(program_path("faults", "checked"), copy);
  REQUIRE(Program({"strip", copy}).run().status == 0);
  const Outcome outcome = checked({copy, "double_free"}).run();
  INFO(outcome);
  CHECK(first_line(outcome.err).find(" bytes, in faults-checked+0x") != std::string::npos);
  CHECK(outcome.err.find(" __libc_start_main+0x") != std::string::npos);
}

TEST_CASE("of two threads that free an object at the same moment one is told") {
  const Outcome outcome = fault("double_free_at_once").with("PKTMALLOC_CHECK", "report").run();
  INFO(outcome);
  CHECK(outcome.status == 7);
  CHECK(count(outcome.err, "pktmalloc: ") == 90);
  CHECK(count(outcome.err, "pktmalloc: double free of ") == 90);
}

TEST_CASE("stacks are found while the loader's list of modules is locked") {
  const Outcome outcome = checked({program_path("loader_callbacks", "checked")}).run();
  INFO(outcome);
  CHECK(outcome.clean());
}

TEST_CASE("a quarantine of nothing still finds a double free, but no write after free") {
  const auto run = [](const std::string& name) {
    return fault(name).with("PKTMALLOC_QUARANTINE", "0").run();
  };
  CHECK(run("double_free").signal == SIGABRT);
  CHECK(run("after_free").status == 7);
}

TEST_CASE("a reported fault in a loop does not go on for ever") {
  const Outcome outcome = fault("many").with("PKTMALLOC_CHECK", "report").run();
  CHECK(outcome.status == 7);
  CHECK(count(outcome.err, "double free") == 100);
  CHECK(outcome.err.find("pktmalloc: further findings are not told\n") != std::string::npos);
}

TEST_CASE("correct programs run silently and with the same output") {
  const std::string lines =
      "for i in $(seq 20000); do echo $((i * 7919 % 10007)); done | sort -n | "
      "uniq -c | sort -rn | head -40; exit 4";
  const std::string python =
      "import json\nd = {str(i): [i] * (i % 50) for i in range(5000)}\n"
      "print(len(json.dumps(d)), len(json.loads(json.dumps(d))))";
  const std::string perl =
      "my %h; $h{$_} = 'x' x ($_ % 500) for 1..20000; my $n = 0; $n += length for values %h; "
      "print \"$n\\n\"";
  const std::string sql =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<20000) "
      "SELECT count(*), sum(i), max(printf('%050d', i)) FROM n ORDER BY i;";
  const std::vector<std::vector<std::string>> commands = {
      {program_path("correct", "checked")},
      {"sh", "-c", lines},
      {"python3", "-c", python},
      {"perl", "-e", perl},
      {"sqlite3", ":memory:", sql},
      {"git", "--no-pager", "log", "-3", "--stat"},
      {"g++", "-std=c++20", "-fsyntax-only", "tests/checked/correct.cpp"}};
  for (const auto& command : commands) {
    if (command[0].find('/') == std::string::npos && !installed(command[0])) {
      WARN(command[0] << " is not installed");
      continue;
    }
    const Outcome alone = Program(command).with("PYTHONMALLOC", "malloc").run();
    for (const std::string guard : {"0", "64", "2048"}) {
      const Outcome outcome =
          checked(command).with("PYTHONMALLOC", "malloc").with("PKTMALLOC_GUARD", guard).run();
      INFO(command[0] << ", guard " << guard << ": " << outcome);
      CHECK(outcome.status == alone.status);
      CHECK(outcome.out == alone.out);
      CHECK(outcome.err == alone.err);
    }
  }
}

TEST_CASE("the programs of tests/programs run under the checked library") {
  // What the checks must change: objects are larger by their dress, and freed ones wait.
  const std::set<std::string> exceptions = {
      "double_free_is_told",                              // the report is another
      "double_free_of_many_is_told",                      // the same
      "free_inside_an_object_is_told",                    // the same
      "no_cxx_runtime_in_c_programs",                     // the unwinder is libgcc_s
      "hello",                                            // prints and returns 7
      "work_under_limits",                                // prints
      "malloc_stats_tells_on_stderr",                     // prints
      "exec_keeps_the_environment",                       // counts bytes of a class
      "exhausted_class_is_served_by_the_next_allocator",  // the same
      "malloc_info_writes_xml",                           // the same
      "mallinfo2_is_plausible",                           // the same
      "pooled_sizes",                                     // the same
      "statistics_are_exact",                             // the same
      "realloc_to_zero_frees",                            // freed objects count as live
      "sized_frees_free",                                 // the same
      "work_while_memory_is_refused",                     // the same
      "locked_memory_stays_and_is_counted",               // the same
      "peaks_of_other_sizes_do_not_add_up",               // and wait in quarantine
      "peaks_of_other_sizes_fit_in_a_limit_of_data",      // the same, and need more
      "writes_after_free_break_no_list",                  // misuse is its subject
      "realloc_shrinks_in_place",                         // writes to the size before the last
      "realloc_at_the_border_of_the_pool",                // asks for the class of a request
      "peak_of_random_sizes",                             // prints
      "ends_on_the_smallest_stack",                       // prints
      "objects_lie_somewhere",                            // prints
      "system_calls",                                     // a launcher, needs arguments
      "is_read_from_outside",                             // needs arguments
      "peaks_of_two_groups_in_turn",                      // the same
      "large_blocks_come_from_mimalloc",                  // needs mimalloc
      "large_blocks_do_not_come_from_libc",               // needs another allocator
  };
  for (const auto& file : std::filesystem::directory_iterator("tests/programs")) {
    const std::string name = file.path().stem();
    if (file.path().extension() == ".h" || exceptions.count(name) > 0) continue;
    const Outcome outcome =
        checked({program_path(name)})
            .with("PKTMALLOC_QUARANTINE", "1MiB")
            .with("PKTMALLOC_BACKGROUND",
                  name.find("background") != std::string::npos ? "1" : "auto")
            .with("PKTMALLOC_AGE", name.find("fork_while_the_b") == 0 ? "20ms" : "1s")
            .run();
    INFO(name << ": " << outcome);
    CHECK(outcome.clean());
  }
}

TEST_CASE("the checked library has the same exports and needs libc and nothing else") {
  const auto told_by = [](const std::string& command, const std::string& library) {
    return Program({"sh", "-c", command, "sh", build_path(library)}).run().out;
  };
  const std::string exports = "nm -D --defined-only --format=posix $1 | cut -d' ' -f1";
  CHECK(told_by(exports, "libpktmalloc.so").find("malloc") != std::string::npos);
  CHECK(told_by(exports, "libpktmalloc-checked.so") == told_by(exports, "libpktmalloc.so"));
  const std::string needed = "readelf -d $1 | grep -c NEEDED; readelf -d $1 | grep -c libc.so.6";
  CHECK(told_by(needed, "libpktmalloc-checked.so") == "1\n1\n");
}

TEST_CASE("preloaded under a program linked with the normal library it takes that one's place") {
  const Outcome outcome = checked({program_path("double_free_is_told", "shared")}).run();
  INFO(outcome);
  CHECK(outcome.signal == SIGABRT);
  CHECK(outcome.err.find("an object of 100 bytes") != std::string::npos);
}

TEST_CASE("the normal library says of each option of the checked one that it does nothing") {
  const std::pair<std::string, std::string> options[] = {
      {"PKTMALLOC_CHECK", "report"}, {"PKTMALLOC_QUARANTINE", "1MiB"}, {"PKTMALLOC_GUARD", "64"}};
  for (const auto& [name, value] : options) {
    const Outcome outcome = Program({program_path("hello")}).preloaded().with(name, value).run();
    CHECK(outcome.out == "hello\n");
    CHECK(outcome.err == "pktmalloc: " + name + "=" + value +
                             " does nothing here: it is for libpktmalloc-checked.so\n");
    CHECK(checked({program_path("hello")}).with(name, value).run().err.empty());
  }
  CHECK(checked({program_path("hello")}).with("PKTMALLOC_CHECK", "warn").run().err ==
        "pktmalloc: PKTMALLOC_CHECK=warn is not understood; accepted: abort or report; using "
        "abort\n");
  CHECK(checked({program_path("hello")})
            .with("PKTMALLOC_GUARD", "300K")
            .run()
            .err.find("PKTMALLOC_GUARD=300K is not understood") != std::string::npos);
}
