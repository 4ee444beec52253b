// SPDX-License-Identifier: MIT
// The checked library's findings: each with its exact first line, and what follows it.
#include <catch2/catch.hpp>

#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <sstream>
#include <string>

#include "tests/count.h"
#include "tests/temporary_folder.h"
#include "tests/twins.h"

namespace {

Program fault(const std::string& name) {
  return checked({program_path("faults", "checked"), name}).with("PKTMALLOC_GUARD", "1472");
}

Program hardened_and_guarded(std::vector<std::string> argv) {  // few objects
  return hardened(std::move(argv)).with("PKTMALLOC_SAMPLE_GUARD", "1000000");
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

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
    {"double_free_among_many_large", "double free of *, an object of 300000 bytes", "frees"},
    {"double_free_guarded", "double free of *, an object of 1472 bytes", "frees"},
    {"double_free_in_turn", "double free of *, an object of 100 bytes", "frees"},
    {"double_free_in_static", "double free of *, an object of 100 bytes", "frees_in_secret"},
    {"double_free_on_small_stack", "double free of *, an object of 100 bytes", "frees"},
    {"free_inside", "free of *, 24 bytes inside an object of 100 bytes", "frees_inside", 24},
    {"free_near", "free of *, 8 bytes inside an object of 100 bytes", "frees_near", 8},
    {"free_inside_large", "free of *, 24 bytes inside an object of 1000000 bytes", "frees_inside",
     24},
    {"free_inside_aligned", "free of *, 24 bytes inside an object of 512 bytes", "frees_inside",
     24},
    {"free_before", "free of *, 16 bytes before an object of 100 bytes", "frees_before", -16},
    {"free_static", "free of *, static data of faults-checked", "frees"},
    {"free_stack", "free of *, on the stack", "frees"},
    {"free_thread_stack", "free of *, on the stack", "frees"},
    {"free_unmapped", "free of *, where nothing is mapped", "frees"},
    {"free_inaccessible", "free of *, where no access is allowed", "frees"},
    {"free_never_allocated", "free of *, a heap address that was never handed out", "frees"},
    {"realloc_static", "realloc of *, static data of faults-checked", "reallocs"},
    {"realloc_inaccessible", "realloc of *, where no access is allowed", "reallocs"},
    {"realloc_inside", "realloc of *, 16 bytes inside an object of 100 bytes", "reallocs_inside",
     16},
    {"realloc_freed", "realloc of * after it was freed: an object of 100 bytes", "reallocs"},
    {"size_of_static", "malloc_usable_size of *, static data of faults-checked", "asks_size"},
    {"size_of_inaccessible", "malloc_usable_size of *, where no access is allowed", "asks_size"},
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
    {"before_start", "write before the start of *, an object of 100 bytes: byte -1 is 0x41",
     "writes_before"},
    {"far_before_start", "write before the start of *, an object of 100 bytes: byte -16 is 0x41",
     "writes_far_before"},
    {"far_before_start_large",
     "write before the start of *, an object of 1000000 bytes: byte -16 is 0x41",
     "writes_far_before"},
    {"far_before_start_guarded",
     "write before the start of *, an object of 1472 bytes: byte -16 is 0x41", "writes_far_before"},
    {"far_before_start_aligned",
     "write before the start of *, an object of 512 bytes: byte -16 is 0x41", "writes_far_before"},
    {"far_before_start_realloc",
     "write before the start of *, an object of 100 bytes: byte -16 is 0", "reallocs"},
    {"far_before_start_live", "write before the start of *, an object of 100 bytes: byte -16 is 0",
     ""},
    {"far_before_start_live_large",
     "write before the start of *, an object of 1000000 bytes: byte -16 is 0", ""},
    {"far_before_start_live_guarded",
     "write before the start of *, an object of 1472 bytes: byte -16 is 0", ""},
    {"far_before_start_freed", "write before the start of *, an object of 100 bytes: byte -16 is 0",
     ""},
    {"after_free", "write after free to *, an object of 100 bytes: byte 40 is 0x41", ""},
    {"after_free_large", "write after free to *, an object of 1000000 bytes: byte 40 is 0x41", ""},
    {"after_free_large_far", "write after free to *, an object of 1000000 bytes: byte 500000",
     "writes_far_after_free"},
    {"after_free_large_read", "read after free to *, an object of 1000000 bytes: byte 500000",
     "reads_far_after_free"},
    {"after_free_large_zeroed", "write after free to *, an object of 1000000 bytes: byte 400000",
     "zeroes_far_after_free"},
    {"after_free_long", "write after free to *, an object of 100 bytes: byte 40 is 0x41", ""},
    {"jump_over_canary", "write before the start of *, an object of 104 bytes: byte -8 is 0x41",
     "frees"},
    {"empty_write", "write past the end of *, an object of 0 bytes: byte 0", "writes_to_first"},
    {"empty_write_after_free", "write past the end of *, an object of 0 bytes: byte 0",
     "writes_to_first"},
    {"empty_array_read", "read past the end of *, an object of 0 bytes: byte 100", "reads_far"},
    {"empty_double_free", "double free of *, an object of 0 bytes", "frees"},
    {"guard_write", "write past the end of *, an object of 1472 bytes: byte 1472",
     "writes_into_guard"},
    {"guard_read", "read past the end of *, an object of 1472 bytes: byte 1475", "reads_guard"},
};

// Told before they write; who goes on is told of the damage, too.
const Row kCopies[] = {
    {"copy_past_end", "write past the end of *, an object of 100 bytes: byte 100", "copies"},
    {"copy_from_before", "write before the start of *, an object of 100 bytes: byte -16", "copies"},
    {"copy_after_free", "write after free to *, an object of 100 bytes: byte 0", "copies"},
    {"move_past_end", "write past the end of *, an object of 100 bytes: byte 100", "moves"},
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

TEST_CASE("a copy that runs over an object, or into a freed one, is told before it writes") {
  CHECK(fault("copy").run().status == 7);
  for (const Row& row : kCopies) {
    const Outcome outcome = fault(row.name).run();
    INFO(row.name << ": " << outcome);
    CHECK(outcome.signal == SIGABRT);
    CHECK(first_line(outcome.err) == expected(row, outcome.out));
  }
}

TEST_CASE("an access beyond all slabs is told before the program is aborted") {
  struct Case {
    Twin twin;
    std::string what, object, in;
  };
  const std::string writes = "writes_upwards", reads = "reads_upwards";
  const Case cases[] = {
      {checked, "write", "4000 bytes: byte 4080", writes},
      {checked, "read", "4000 bytes: byte 4080", reads},
      {hardened, "write", "up to 4096 bytes: byte 4096", writes},
      {hardened, "read", "up to 4096 bytes: byte 4096", reads},
      {hardened_and_guarded, "write", "up to 4096 bytes: byte 4096", writes},
  };
  for (const Case& c : cases) {
    const Outcome outcome = c.twin({program_path("faults", "checked"), c.in}).run();
    INFO(outcome);
    CHECK(outcome.signal == SIGABRT);
    CHECK(
        first_line(outcome.err) ==
        expected({"", c.what + " past the end of *, an object of " + c.object, c.in}, outcome.out));
  }
  // What lay between was overwritten.
  const Outcome far = checked({program_path("faults", "checked"), "writes_far_upwards"}).run();
  INFO(far);
  CHECK(first_line(far.err) ==
        expected({"", "write past the end of *, an object of 4000 bytes: byte 4080", writes},
                 far.out));
  // Before the first slab of all, and beyond memory that no slab has yet.
  for (const Twin twin : {checked, hardened}) {
    for (const std::string kind : {"reads_downwards", "reads_far_upwards"}) {
      const Outcome outcome = twin({program_path("faults", "checked"), kind}).run();
      INFO(kind << ": " << outcome);
      CHECK(outcome.signal == SIGABRT);
      CHECK(first_line(outcome.err).rfind("pktmalloc: read ", 0) == 0);
    }
  }
}

TEST_CASE("an access to a page of the program's own beside a slab is not told") {
  for (const Twin twin : {checked, hardened}) {
    const Outcome outcome = twin({program_path("faults", "checked"), "writes_to_own_page"}).run();
    INFO(outcome);
    CHECK(outcome.signal == SIGSEGV);
    CHECK(outcome.err.empty());
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

TEST_CASE("each finding is told also if all freed objects wait in the quarantine") {
  for (const Row& row : kRows) {
    const Outcome outcome = fault(row.name).with("PKTMALLOC_QUARANTINE_RATE", "1").run();
    INFO(row.name << ": " << outcome);
    CHECK(first_line(outcome.err) == expected(row, outcome.out));
  }
}

TEST_CASE("a second free of a large object is told with its stacks also when nobody waits") {
  const Outcome outcome = fault("double_free_large").with("PKTMALLOC_QUARANTINE", "0").run();
  INFO(outcome);
  CHECK(first_line(outcome.err) ==
        expected({"", "double free of *, an object of 1000000 bytes", "frees"}, outcome.out));
  CHECK(has_stack(outcome.err, "first freed in", "large_freed_allocation"));
}

TEST_CASE("of freed objects some wait long, whatever the program's rhythm") {
  const Outcome outcome = fault("after_free_of_all").with("PKTMALLOC_CHECK", "report").run();
  INFO(outcome);
  const size_t told = count(outcome.err, "pktmalloc: write after free to ");
  CHECK(told == 100);
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
  // The call that finds it is no earlier free.
  for (const std::string name : {"free_size", "delete_of_malloc", "past_end"}) {
    const Outcome first = fault(name).run();
    INFO(first);
    CHECK(first.err.find("allocated in") != std::string::npos);
    CHECK(first.err.find("first freed in") == std::string::npos);
  }
}

TEST_CASE("an object whose beginning is overwritten is told with the one in front of it") {
  const Outcome outcome = fault("jump_over_canary").run();
  INFO(outcome);
  const size_t at = outcome.err.find("  perhaps from 0x");
  REQUIRE(at != std::string::npos);
  CHECK(outcome.err.find(", the object of 104 bytes in front, allocated in:\n    #0  runs_over+0x",
                         at) != std::string::npos);
}

TEST_CASE("stacks are the same when one place is reached by two ways") {
  const Outcome outcome = fault("two_ways").run();
  INFO(outcome);
  CHECK(has_stack(outcome.err, "allocated in", "leaf"));
  CHECK(outcome.err.find("second_way+0x") != std::string::npos);
  CHECK(outcome.err.find("first_way+0x") == std::string::npos);
}

TEST_CASE("a recursion that was reached in many ways is told up to where it repeats") {
  const Outcome outcome = fault("many_ways").run();
  INFO(outcome);
  CHECK(has_stack(outcome.err, "allocated in", "leaf"));
  CHECK(outcome.err.find("    #3  by_way+0x") != std::string::npos);
  CHECK(outcome.err.find("    #4  by_way+0x") == std::string::npos);
}

TEST_CASE("names of C++ are as in the source, also if the program goes on") {
  const Row row{"double_free_in_method", "double free of *, an object of 100 bytes",
                "(anonymous namespace)::Owner::gives_back(void*, int)"};
  const Outcome aborted = fault(row.name).run();
  INFO(aborted);
  CHECK(first_line(aborted.err) == expected(row, aborted.out));
  CHECK(has_stack(aborted.err, "found in", row.in));
  const Outcome reported = fault(row.name).with("PKTMALLOC_CHECK", "report").run();
  INFO(reported);
  CHECK(first_line(reported.err) == expected(row, reported.out));
  CHECK(has_stack(reported.err, "found in", row.in));
}

TEST_CASE("pktmalloc report adds the source lines of what was told") {
  const Outcome told = fault("double_free").run();
  TemporaryFolder folder;
  folder.write("app.err", "of the program\n" + told.err);
  const Outcome outcome = Program({build_path("pktmalloc"), "report", folder / "app.err"}).run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(outcome.out.rfind("of the program\n" + first_line(told.err) + "\n  found in:\n", 0) == 0);
  CHECK(outcome.out.find("    #0  frees+0x") != std::string::npos);
  CHECK(count(outcome.out, " at faults.cpp:") >= 5);
}

TEST_CASE("a program without names is told by its offsets, and libraries by what they export") {
  TemporaryFolder folder;
  const std::string copy = folder / "faults-checked";
  std::filesystem::copy_file(program_path("faults", "checked"), copy);
  REQUIRE(Program({"strip", copy}).run().status == 0);
  const Outcome outcome = checked({copy, "double_free"}).run();
  INFO(outcome);
  CHECK(first_line(outcome.err).find(" bytes, in faults-checked+0x") != std::string::npos);
  CHECK(outcome.err.find("  unnamed (" + copy + "+0x") != std::string::npos);
  CHECK(outcome.err.find(" __libc_start_main+0x") != std::string::npos);
}

TEST_CASE("of two threads that free an object at the same moment one is told") {
  const Outcome outcome = fault("double_free_at_once").with("PKTMALLOC_CHECK", "report").run();
  INFO(outcome);
  CHECK(outcome.status == 7);
  CHECK(count(outcome.err, "pktmalloc: ") == 90);
  CHECK(count(outcome.err, "pktmalloc: double free of ") == 90);
}

TEST_CASE("no freed object is forgotten while ever more of them wait") {
  const Outcome outcome = fault("after_free_among_many")
                              .with("PKTMALLOC_CHECK", "report")
                              .with("PKTMALLOC_QUARANTINE_RATE", "1")
                              .run();
  INFO(outcome);
  CHECK(count(outcome.err, "pktmalloc: write after free to ") == 90);
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
