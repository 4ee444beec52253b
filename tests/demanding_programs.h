// SPDX-License-Identifier: MIT
// Those of tests/programs that leave an allocator the least room for mistakes, to be run with what
// sees or serves every allocation in its own way.
#pragma once

inline constexpr const char* kDemandingPrograms[] = {
    "storm_of_stacks",
    "batches_are_as_single_calls",
    "inlined_objects_are_those_of_malloc",
    "everything_at_once",
    "new_throws_bad_alloc",
    "fork_storm_from_many_threads",
    "fork_in_a_signal_handler",
    "fork_handlers_may_allocate",
    "signals_interrupt_allocations",
    "plugin_loaded_and_unloaded_repeatedly",
    "threads_with_the_smallest_stacks",
    "allocation_in_key_destructors",
    "objects_of_all_sizes_do_not_overlap",
    "realloc_keeps_contents",
    "realloc_in_another_thread",
    "free_keeps_errno",
    "exceptions_across_allocations",
    "cancelled_threads_free_in_their_handlers",
    "calloc_zeroes_recycled_memory",
    "vfork_and_exec_leave_the_parent_intact",
    "aligned_blocks_are_aligned",
};
