// SPDX-License-Identifier: MIT
// Twins: the checked and the hardened library, and what has to hold for both.
#pragma once

#include <catch2/catch.hpp>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "tests/correct_commands.h"
#include "tests/program.h"
#include "tests/skip.h"

inline Program preloaded_with(const std::string& library, std::vector<std::string> argv) {
  Program program(std::move(argv));
  program.with("LD_PRELOAD", build_path(library));
  return program;
}

inline Program checked(std::vector<std::string> argv) {
  return preloaded_with("libpktmalloc-checked.so", std::move(argv));
}

inline Program hardened(std::vector<std::string> argv) {
  return preloaded_with("libpktmalloc-hardened.so", std::move(argv));
}

using Twin = Program (*)(std::vector<std::string>);

// Correct programs run as without the library, whatever this option is set to.
inline void check_correct_commands(Twin twin, const std::string& option,
                                   const std::vector<std::string>& values) {
  for (const auto& command : correct_commands()) {
    if (!at_hand(command[0])) continue;
    const Outcome alone = Program(command).with("PYTHONMALLOC", "malloc").run();
    for (const std::string& value : values) {
      const Outcome outcome =
          twin(command).with("PYTHONMALLOC", "malloc").with(option, value).run();
      INFO(command[0] << ", " << option << "=" << value << ": " << outcome);
      CHECK(outcome.status == alone.status);
      CHECK(outcome.out == alone.out);
      CHECK(outcome.err == alone.err);
    }
  }
}

// Programs of tests/programs that no twin serves as the normal library does.
inline const std::set<std::string> kNotForTwins = {
    "double_free_is_told",                              // the report is another
    "double_free_in_a_batch_is_told",                   // the same
    "double_free_in_a_child_is_told",                   // the same
    "double_free_of_many_is_told",                      // the same
    "double_free_in_a_sandbox_is_told",                 // the same
    "free_inside_a_block_is_told",                      // the same
    "free_inside_an_object_is_told",                    // the same
    "free_of_what_never_was_is_told",                   // the same
    "writes_after_free_break_no_list",                  // misuse is its subject
    "hello",                                            // prints and returns 7
    "work_under_limits",                                // prints
    "limit_is_kept",                                    // needs a limit
    "soft_limit_gives_back_at_once",                    // the same
    "malloc_stats_tells_on_stderr",                     // prints
    "peak_of_random_sizes",                             // the same
    "ends_on_the_smallest_stack",                       // the same
    "objects_lie_somewhere",                            // the same
    "exhausted_class_is_served_by_the_next_allocator",  // counts live objects
    "mallinfo2_is_plausible",                           // the same
    "realloc_to_zero_frees",                            // the same
    "sized_frees_free",                                 // the same
    "work_while_memory_is_refused",                     // the same
    "limit_of_addresses_lowered_by_the_program",        // counts addresses, of states as well
    "locked_memory_stays_and_is_counted",               // counts memory, of states as well
    "peaks_of_other_sizes_fit_in_a_limit_of_data",      // the same
    "background_thread_is_not_pinned",                  // sets options for itself
    "locked_memory_does_not_wait",                      // needs PKTMALLOC_BACKGROUND=1
    "reserved_calls_make_no_system_call",               // needs PKTMALLOC_RESERVE
    "system_calls",                                     // a launcher, needs arguments
    "large_blocks_fill_a_limit",                        // the same
    "large_blocks_kept_and_given_back",                 // counts memory that is not touched
    "realloc_at_a_limit_takes_what_is_left",            // needs a limit
    "large_blocks_go_back_when_idle",                   // needs PKTMALLOC_BACKGROUND=1
    "is_read_from_outside",                             // needs arguments
    "copy_in_another_name_space",                       // the same
    "holds_until_it_ends",                              // the same
    "ends_as_told",                                     // the same
    "peaks_of_two_groups_in_turn",                      // the same
    "profiled_while_it_runs",                           // the same
    "traced_while_it_runs",                             // the same
    "tells_itself",                                     // the same
    "large_blocks_come_from_mimalloc",                  // needs mimalloc
    "large_blocks_do_not_come_from_libc",               // needs another allocator
};

// The others, which look for themselves whether all is right, but for those of which the twin must
// change the subject.
inline void check_programs(Twin twin, const std::string& option, const std::string& value,
                           const std::set<std::string>& exceptions) {
  for (const auto& file : std::filesystem::directory_iterator("tests/programs")) {
    const std::string name = file.path().stem();
    if (file.path().extension() == ".h" || exceptions.count(name) + kNotForTwins.count(name) > 0)
      continue;
    const bool background = name.find("background") != std::string::npos;
    const Outcome outcome =
        twin({program_path(name)})
            .with(option, value)
            .with("PKTMALLOC_BACKGROUND", background ? "1" : "auto")
            .with("PKTMALLOC_AGE", name.find("fork_while_the_b") == 0 ? "20ms" : "1s")
            .run();
    INFO(name << ": " << outcome);
    CHECK(outcome.clean());
  }
}

// The exports of the normal library and those that see copies, and no need but libc.
inline void check_interface(const std::string& library) {
  const auto told_by = [](const std::string& command, const std::string& of) {
    return Program({"sh", "-c", command, "sh", build_path(of)}).run().out;
  };
  const std::string exports = "nm -D --defined-only --format=posix $1 | cut -d' ' -f1";
  CHECK(told_by(exports, library).find("malloc") != std::string::npos);
  const std::string others = exports + " | grep -vx 'mem[a-z]*[ye]'";
  CHECK(told_by(others, library) == told_by(exports, "libpktmalloc.so"));
  CHECK(told_by(exports + " | grep -x 'mem[a-z]*[ye]'", library) == "memcpy\nmemmove\n");
  const std::string needed = "readelf -d $1 | grep -c NEEDED; readelf -d $1 | grep -c libc.so.6";
  CHECK(told_by(needed, library) == "1\n1\n");
}
