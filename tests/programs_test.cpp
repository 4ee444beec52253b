// SPDX-License-Identifier: MIT
// Every program of tests/programs, in each of the three ways it is built, and with the debug
// library: it must end with status 0 and say nothing. What a program shows is its name; what it
// needs from outside is in the table.
#include <catch2/catch.hpp>

#include <sys/resource.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "tests/program.h"
#include "tests/skip.h"

namespace {

struct Needs {
  std::map<std::string, std::string> environment;
};

const std::map<std::string, Needs> kPrograms = {
    {"a_fault_sent_to_it_waits",
     {{{"PKTMALLOC_PROFILE", "/dev/null"}, {"PKTMALLOC_PROFILE_RATE", "1"}}}},
    {"abort_is_that_of_libc", {}},
    {"aligned_alloc_refuses_wrong_alignments", {}},
    {"aligned_blocks_are_aligned", {}},
    {"blocks_of_a_gib_come_and_go", {}},
    {"alignments_up_to_a_gibibyte", {}},
    {"allocation_before_constructors", {}},
    {"allocation_in_exit_handlers", {}},
    {"allocation_in_key_destructors", {}},
    {"allocation_in_thread_local_destructors", {}},
    {"allocation_is_no_cancellation_point", {}},
    {"aligned_new_after_its_handler", {{{"PKTMALLOC_LIMIT", "16MiB"}}}},
    {"background_thread_is_not_pinned", {}},
    {"background_thread_serves_an_idle_single_thread", {{{"PKTMALLOC_BACKGROUND", "1"}}}},
    {"batches_are_as_single_calls", {}},
    {"calls_without_a_rule_to_unwind", {}},
    {"calls_without_frame_pointers", {}},
    {"blocks_shrink_without_memory", {}},
    {"calloc_of_fresh_memory_writes_nothing", {}},
    {"calloc_overflow_is_no_memory", {}},
    {"calloc_zeroes_purged_memory", {}},
    {"calloc_zeroes_recycled_memory", {}},
    {"cancelled_threads_free_in_their_handlers", {}},
    {"detached_threads_work_while_main_exits", {}},
    {"dlopen_answers_as_that_of_libc", {}},
    {"errno_is_zero_at_start", {}},
    {"every_operator_new_and_delete", {}},
    {"exceptions_across_allocations", {}},
    {"unwinder_allocates_under_its_lock", {}},
    {"exec_keeps_the_environment", {}},
    {"exhausted_class_is_served_by_the_next_allocator", {}},
    {"exit_in_a_signal_handler", {}},
    {"failed_realloc_leaves_the_block", {}},
    {"foreign_pointers_go_to_their_owner", {}},
    {"everything_at_once", {}},
    {"fork_child_works_without_exec", {}},
    {"fork_handlers_free_large_blocks", {}},
    {"fork_handlers_may_allocate", {}},
    {"fork_in_a_signal_handler", {}},
    {"exit_while_a_thread_forks", {}},
    {"child_of_a_raw_clone_changes_its_user", {{{"PKTMALLOC_CONTROL", "1"}}}},
    {"fork_storm_from_many_threads", {}},
    {"fault_in_a_sandbox_ends_the_program", {{{"PKTMALLOC_SAMPLE_GUARD", "1000"}}}},
    {"frees_on_a_stack_that_cannot_be_walked",
     {{{"PKTMALLOC_PROFILE", "/dev/null"}, {"PKTMALLOC_PROFILE_RATE", "1"}}}},
    {"handlers_allocate_while_main_exits", {}},
    {"fork_while_others_allocate", {}},
    {"fork_while_streams_are_used", {}},
    {"forked_child_exits_undelayed", {}},
    {"fork_while_the_background_thread_works",
     {{{"PKTMALLOC_BACKGROUND", "1"}, {"PKTMALLOC_AGE", "20ms"}}}},
    {"free_in_another_thread", {}},
    {"freed_memory_at_a_limit_serves_a_larger_request", {{{"PKTMALLOC_LIMIT", "100MiB"}}}},
    {"freed_memory_at_a_limit_serves_other_sizes", {{{"PKTMALLOC_LIMIT", "16MiB"}}}},
    {"large_objects_come_and_go_at_a_limit_of_data", {}},
    {"freed_blocks_wait_for_as_many_others", {}},
    {"free_keeps_errno", {}},
    {"free_of_null_does_nothing", {}},
    {"inlined_objects_are_those_of_malloc", {}},
    {"known_batches", {}},
    {"known_calls", {}},
    {"large_blocks_let_the_pool_shrink", {}},
    {"a_sandbox_answers_by_a_signal", {{{"PKTMALLOC_AGE", "20ms"}}}},
    {"libc_spellings_are_ours", {}},
    {"large_blocks_go_back_when_idle",
     {{{"PKTMALLOC_BACKGROUND", "1"}, {"PKTMALLOC_AGE", "20ms"}}}},
    {"large_blocks_of_threads_go_back", {}},
    {"limit_is_kept", {{{"PKTMALLOC_LIMIT", "64MiB"}}}},
    {"limit_leaves_glibc_as_it_is", {{{"PKTMALLOC_LIMIT", "1GiB"}}}},
    {"limit_of_addresses_lowered_by_the_program", {}},
    {"live_objects_of_all_functions_do_not_overlap", {}},
    {"loader_walk_starts_no_thread", {}},
    {"locked_memory_does_not_wait", {{{"PKTMALLOC_BACKGROUND", "1"}, {"PKTMALLOC_AGE", "20ms"}}}},
    {"locked_memory_stays_and_is_counted", {}},
    {"longjmp_out_of_a_signal_handler", {}},
    {"main_thread_ends_before_others", {}},
    {"process_ends_with_its_last_thread", {{{"PKTMALLOC_BACKGROUND", "1"}}}},
    {"mallinfo2_is_plausible", {}},
    {"mallinfo2_without_memory", {{{"PKTMALLOC_PROFILE", "/dev/null"}}}},
    {"malloc_info_writes_xml", {}},
    {"malloc_of_zero_gives_distinct_objects", {}},
    {"malloc_trim_tells_whether_it_gave_back", {}},
    {"mallopt_returns_one", {}},
    {"memory_from_libc_is_freed_by_free", {}},
    {"memory_goes_back_under_light_work", {}},
    {"memory_goes_back_when_a_worker_ends", {}},
    {"memory_goes_back_when_idle", {}},
    {"memory_goes_back_when_who_freed_it_ends", {}},
    {"memory_refused_then_granted", {}},
    {"new_expressions_of_all_kinds", {}},
    {"new_handler_is_called_and_retried", {}},
    {"new_of_the_runtime_calls_ours", {{{"PKTMALLOC_LIMIT", "16MiB"}}}},
    {"new_throws_bad_alloc", {}},
    {"no_cxx_runtime_in_c_programs", {}},
    {"nothrow_new_returns_null", {}},
    {"protected_memory_is_freed", {}},
    {"options_leave_room_under_a_lower_limit", {{{"PKTMALLOC_SAMPLE_GUARD", "50"}}}},
    {"objects_allocated_on_other_stacks",
     {{{"PKTMALLOC_PROFILE", "/dev/null"}, {"PKTMALLOC_PROFILE_RATE", "1"}}}},
    {"objects_are_mapped_over", {}},
    {"objects_of_all_sizes_do_not_overlap", {}},
    {"pages_of_partly_used_slabs_go_back", {{{"PKTMALLOC_AGE", "100ms"}}}},
    {"peaks_of_other_sizes_do_not_add_up", {}},
    {"peaks_of_other_sizes_fit_in_a_limit_of_data", {}},
    {"plugin_bound_deeply_hands_memory_over", {}},
    {"plugin_in_cxx_throws_in_a_c_program", {}},
    {"plugin_loaded_and_unloaded_repeatedly", {}},
    {"plugin_opens_libraries_of_its_own", {}},
    {"posix_memalign_tells_errors_by_result", {}},
    {"producers_and_consumers_stay_bounded", {}},
    {"producers_and_one_that_only_frees_stay_bounded", {}},
    {"program_with_a_dlopen_of_its_own", {}},
    {"random_calls_of_all_functions", {}},
    {"random_sizes_fit_in_few_addresses", {}},
    {"realloc_at_a_limit_takes_what_is_left", {{{"PKTMALLOC_LIMIT", "64MiB"}}}},
    {"realloc_at_the_border_of_the_pool", {}},
    {"realloc_crosses_between_pool_and_next_allocator", {}},
    {"realloc_forgets_the_alignment", {}},
    {"realloc_in_another_thread", {}},
    {"realloc_keeps_contents", {}},
    {"realloc_of_null_allocates", {}},
    {"realloc_of_large_blocks", {}},
    {"realloc_shrinks_in_place", {}},
    {"realloc_to_zero_frees", {}},
    {"reallocarray_overflow_leaves_the_block", {}},
    {"requests_beyond_ptrdiff_max_fail", {}},
    {"reserve_refuses_what_cannot_be", {}},
    {"reserved_calls_make_no_system_call",
     {{{"PKTMALLOC_RESERVE", "1500:60000"},
       {"PKTMALLOC_BACKGROUND", "1"},
       {"PKTMALLOC_AGE", "40ms"}}}},
    {"reserved_objects_fault_no_page", {{{"PKTMALLOC_RESERVE", "1500:30000"}}}},
    {"signals_interrupt_allocations", {}},
    {"single_thread_stays_single", {}},
    {"sized_frees_free", {}},
    {"smaller_stacks_where_others_were",
     {{{"PKTMALLOC_PROFILE", "/dev/null"}, {"PKTMALLOC_PROFILE_RATE", "1"}}}},
    {"soft_limit_gives_back_at_once",
     {{{"PKTMALLOC_SOFT_LIMIT", "32MiB"}, {"PKTMALLOC_AGE", "1h"}}}},
    {"spawned_programs_run", {}},
    {"statistics_allocate_nothing", {}},
    {"storm_of_stacks", {}},
    {"tells_huge_pages", {}},
    {"thousand_threads_hold_little", {}},
    {"timers_may_start_threads", {}},
    {"thread_churn_is_bounded", {}},
    {"thread_starts_without_address_space", {}},
    {"threads_that_skip_their_end_leave_little", {}},
    {"threads_that_never_allocate_leave_nothing", {{{"PKTMALLOC_BACKGROUND", "1"}}}},
    {"threads_with_the_smallest_stacks", {}},
    {"trim_returns_memory", {}},
    {"usable_size_is_writable", {}},
    {"valloc_gives_whole_pages", {}},
    {"vfork_and_exec_leave_the_parent_intact", {}},
    {"vfork_leaves_the_background_thread_to_the_parent", {{{"PKTMALLOC_BACKGROUND", "1"}}}},
    {"what_grows_moves_seldom", {}},
    {"writes_after_free_break_no_list", {}},
    {"works_in_a_sandbox", {{{"PKTMALLOC_AGE", "20ms"}}}},
    {"works_in_strict_mode", {{{"PKTMALLOC_AGE", "20ms"}}}},
    {"works_without_the_processors_clock", {{{"PKTMALLOC_AGE", "20ms"}}}},
    {"zero_sizes_give_distinct_blocks", {}},
};

// Those that must say something, or need what not every machine has.
const std::set<std::string> kRunElsewhere = {
    "blocked_signals_stay_as_they_are",            // trace_file_test.cpp
    "allocates_known_bytes",                       // profile_test.cpp
    "has_known_peaks",                             // peaks_test.cpp
    "holds_known_types",                           // objects_test.cpp
    "loses_known_objects",                         // leaks_test.cpp
    "holds_until_it_ends",                         // leak_check_test.cpp
    "waits_undisturbed",                           // leaks_test.cpp
    "peak_before_a_large_object",                  // sizes_test.cpp
    "leaks_by_each_function",                      // profile_test.cpp
    "leaks_known_objects",                         // profile_test.cpp
    "double_free_in_a_batch_is_told",              // failures_test.cpp
    "double_free_is_told",                         // failures_test.cpp
    "ends_as_told",                                // recording_test.cpp
    "refused_requests_count_nothing",              // limit_test.cpp
    "ends_on_the_smallest_stack",                  // small_stacks_test.cpp
    "double_free_in_a_child_is_told",              // failures_test.cpp
    "double_free_of_many_is_told",                 // failures_test.cpp
    "double_free_in_a_sandbox_is_told",            // failures_test.cpp
    "free_inside_a_block_is_told",                 // failures_test.cpp
    "free_inside_an_object_is_told",               // failures_test.cpp
    "free_of_what_never_was_is_told",              // failures_test.cpp
    "copy_in_another_name_space",                  // below
    "replaced_operators_serve_other_forms",        // below
    "replaced_array_operators_serve_other_forms",  // below
    "work_under_limits",                           // failures_test.cpp
    "children_of_clone_exit",                      // reporter_test.cpp
    "hello",                                       // options_test.cpp
    "is_read_from_outside",                        // live_test.cpp, top_test.cpp
    "overwrites_its_environment",                  // statistics_test.cpp
    "objects_lie_somewhere",                       // security_test.cpp
    "pooled_sizes",                                // options_test.cpp
    "sizes_are_recorded",                          // sizes_test.cpp
    "forked_child_gives_back_what_it_got",         // sizes_test.cpp
    "peak_of_random_sizes",                        // sizes_test.cpp
    "peaks_of_two_groups_in_turn",                 // sizes_meanwhile_test.cpp
    "statistics_are_exact",                        // statistics_test.cpp
    "malloc_stats_tells_on_stderr",                // statistics_test.cpp
    "named_threads_allocate",                      // profile_test.cpp
    "profiled_while_it_runs",                      // control_test.cpp
    "traced_while_it_runs",                        // trace_order_test.cpp
    "sleeps_undisturbed",                          // control_test.cpp
    "system_calls",                                // security_test.cpp
    "tells_itself",                                // control_test.cpp
    "work_while_memory_is_refused",                // refusal_test.cpp
    "large_blocks_kept_and_given_back",            // linking_test.cpp
    "large_blocks_fill_a_limit",                   // linking_test.cpp
    "large_blocks_come_from_mimalloc",             // below
    "large_blocks_do_not_come_from_libc",          // below
};

Outcome run(const std::string& name, const std::string& way, const Needs& needs) {
  Program program({program_path(name, way == "debug" ? "plain" : way)});
  if (way == "plain") program.preloaded();
  if (way == "debug") program.with("LD_PRELOAD", build_path("debug/libpktmalloc.so"));
  for (const auto& [variable, value] : needs.environment) program.with(variable, value);
  return program.run();
}

void run_all(const std::string& way) {
  for (const auto& [name, needs] : kPrograms) {
    DYNAMIC_SECTION(name) {
      const Outcome outcome = run(name, way, needs);
      INFO(outcome);
      CHECK(outcome.clean());
    }
  }
}

bool loadable(const std::string& library) {
  return Program({"/sbin/ldconfig", "-p"}).run().out.find(library) != std::string::npos;
}

}  // namespace

TEST_CASE("a program behaves as its name says when the library is preloaded") { run_all("plain"); }

TEST_CASE("a program behaves as its name says when it is linked with the shared library") {
  run_all("shared");
}

TEST_CASE("a program behaves as its name says when it is linked with the static library") {
  run_all("static");
}

TEST_CASE(
    "a program behaves as its name says under the debug build, which checks the order of locks",
    "[.long]") {
  run_all("debug");
}

// They cannot be linked with the archive.
TEST_CASE("operators that a program replaces serve all other forms of new and delete") {
  for (const std::string name :
       {"replaced_operators_serve_other_forms", "replaced_array_operators_serve_other_forms"}) {
    CHECK(Program({program_path(name)}).run().clean());
    CHECK(Program({program_path(name, "shared")}).run().clean());
    for (const std::string library :
         {"libpktmalloc.so", "libpktmalloc-hardened.so", "libpktmalloc-checked.so"}) {
      const Outcome outcome =
          Program({program_path(name)}).with("LD_PRELOAD", build_path(library)).run();
      INFO(name << ", " << library << ": " << outcome);
      CHECK(outcome.clean());
    }
  }
}

TEST_CASE("no program is left out") {
  for (const auto& file : std::filesystem::directory_iterator("tests/programs")) {
    if (file.path().extension() == ".h") continue;
    const std::string name = file.path().stem();
    INFO(name);
    CHECK(kPrograms.count(name) + kRunElsewhere.count(name) == 1);
  }
}

TEST_CASE("another allocator preloaded behind us serves what is not pooled", "[.long]") {
  const std::string allocators[] = {"libjemalloc.so.2", "libmimalloc.so.2",
                                    "libtcmalloc_minimal.so.4"};
  const std::string names[] = {"aligned_blocks_are_aligned",
                               "allocation_in_exit_handlers",
                               "allocation_in_key_destructors",
                               "every_operator_new_and_delete",
                               "fork_child_works_without_exec",
                               "large_blocks_do_not_come_from_libc",
                               "memory_from_libc_is_freed_by_free",
                               "new_throws_bad_alloc",
                               "objects_of_all_sizes_do_not_overlap",
                               "realloc_crosses_between_pool_and_next_allocator",
                               "realloc_keeps_contents",
                               "usable_size_is_writable"};
  for (const std::string& allocator : allocators) {
    DYNAMIC_SECTION(allocator) {
      if (!loadable(allocator)) skip(allocator + " is not installed");
      for (const std::string& name : names) {
        const Outcome outcome =
            Program({program_path(name), "without_nothrow_new"}).preloaded(allocator).run();
        INFO(name << ": " << outcome);
        CHECK(outcome.clean());
      }
    }
  }
}

TEST_CASE("programs work under a library that audits the loader") {
  for (const std::string name : {"everything_at_once", "objects_of_all_sizes_do_not_overlap",
                                 "plugin_loaded_and_unloaded_repeatedly",
                                 "every_operator_new_and_delete", "usable_size_is_writable"}) {
    const Outcome outcome = Program({program_path(name)})
                                .preloaded()
                                .with("LD_AUDIT", build_path("tests/plugins/auditing.so"))
                                .run();
    INFO(name << ": " << outcome);
    CHECK(outcome.clean());
  }
}

TEST_CASE("a copy in another name space of the loader serves the same threads") {
  for (const std::string outer :
       {"libpktmalloc.so", "libpktmalloc-hardened.so", "libpktmalloc-checked.so"}) {
    const Outcome outcome =
        Program({program_path("copy_in_another_name_space"), build_path("libpktmalloc.so")})
            .with("LD_PRELOAD", build_path(outer))
            .run();
    INFO(outer << ": " << outcome);
    CHECK(outcome.clean());
  }
}

TEST_CASE("programs that forbid themselves calls and the clock work with every library") {
  for (const std::string library :
       {"libpktmalloc.so", "libpktmalloc-hardened.so", "libpktmalloc-checked.so"}) {
    for (const std::string name : {"works_in_a_sandbox", "works_without_the_processors_clock"}) {
      // The checked library holds signals back at exit.
      if (library == "libpktmalloc-checked.so" && name == "works_in_a_sandbox") continue;
      const Outcome outcome = Program({program_path(name)})
                                  .with("LD_PRELOAD", build_path(library))
                                  .with("PKTMALLOC_AGE", "20ms")
                                  .run();
      INFO(library << ", " << name << ": " << outcome);
      CHECK(outcome.clean());
    }
  }
}

TEST_CASE("PKTMALLOC_NEXT=mimalloc serves what is not pooled", "[.long]") {
  if (!loadable("libmimalloc.so.2")) skip("libmimalloc.so.2 is not installed");
  const std::string names[] = {
      "large_blocks_come_from_mimalloc",    "aligned_blocks_are_aligned",
      "allocation_in_exit_handlers",        "every_operator_new_and_delete",
      "fork_child_works_without_exec",      "large_blocks_do_not_come_from_libc",
      "foreign_pointers_go_to_their_owner", "realloc_keeps_contents",
      "blocks_of_a_gib_come_and_go"};
  for (const std::string way : {"plain", "shared", "static"}) {
    DYNAMIC_SECTION(way) {
      for (const std::string& name : names) {
        const Outcome outcome = run(name, way, {{{"PKTMALLOC_NEXT", "mimalloc"}}});
        INFO(name << ": " << outcome);
        CHECK(outcome.clean());
      }
      for (const std::string size : {"16", "2048"}) {
        const Outcome few_classes =
            run("aligned_blocks_are_aligned", way,
                {{{"PKTMALLOC_NEXT", "mimalloc"}, {"PKTMALLOC_CLASSES", size}}});
        INFO(size << ": " << few_classes);
        CHECK(few_classes.clean());
      }
    }
  }
}
