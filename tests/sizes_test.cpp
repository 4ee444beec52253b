// SPDX-License-Identifier: MIT
// PKTMALLOC_SIZES: what is recorded is what the program asked for, exactly, in threads, children
// and after memory was refused; and the program is as it is without.
#include <catch2/catch.hpp>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include "tests/program.h"
#include "tests/setuid.h"
#include "tests/size_record.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"

namespace {

// Of what processes with %p in the path wrote, by process id.
std::map<int, Json> read_all(const TemporaryFolder& folder) {
  std::map<int, Json> all;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    const Json recording = read(entry.path());
    CHECK(recording.at("schema") == 1);
    CHECK(recording.at("content") == "sizes");
    CHECK(recording.at("missing") == 0);
    CHECK(entry.path().stem() == std::to_string(int{recording.at("pid")}));
    all[recording.at("pid")] = recording;
  }
  return all;
}

}  // namespace

TEST_CASE("every request is recorded with its size, alignment, calls, peak and threads") {
  TemporaryFolder folder;
  const Outcome outcome = recorded({program_path("sizes_are_recorded")}, folder / "%p.json").run();
  INFO(outcome);
  CHECK(outcome.clean());
  const std::map<int, Json> all = read_all(folder);
  REQUIRE(all.size() == 2);
  const Json& parent = all.begin()->second;
  const Rows rows = rows_of(parent);
  CHECK(rows.at({1001, 0}) == Row{1000, 1000, 1});
  CHECK(rows.at({301, 256}) == Row{10, 10, 1});
  CHECK(rows.at({0, 0}) == Row{5, 5, 1});
  CHECK(rows.at({4194305, 0}) == Row{1, 0, 1});
  CHECK(rows.at({1237, 0}) == Row{300, 0, 3});
  for (const uint64_t bytes : {777, 5557, 1048583, 2097169}) {  // by realloc
    INFO(bytes);
    CHECK(rows.at({bytes, 0}) == Row{1, 0, 1});
  }
  CHECK(rows.at({333, 0}) == Row{7, 0, 1});  // by calloc
  CHECK(rows.count({2003, 0}) == 0);
  CHECK(parent.at("threads") == 4);
  CHECK(parent.at("peak_bytes") == bytes_at_peak(rows));
  CHECK(std::string(parent.at("program")).find("sizes_are_recorded") == 0);
}

TEST_CASE("a fork's child has its parent's live objects, and calls and a peak of its own") {
  TemporaryFolder folder;
  recorded({program_path("sizes_are_recorded")}, folder / "%p.json").run();
  const std::map<int, Json> all = read_all(folder);
  REQUIRE(all.size() == 2);
  const Json& child = all.rbegin()->second;
  const Rows rows = rows_of(child);
  CHECK(rows.at({1001, 0}) == Row{0, 500, 0});
  CHECK(rows.at({2003, 0}) == Row{20, 20, 1});
  CHECK(rows.count({4194305, 0}) == 0);
  CHECK(child.at("threads") == 1);
  CHECK(child.at("peak_bytes") == bytes_at_peak(rows));
}

TEST_CASE("what a fork's child had in memory at its start counts") {
  TemporaryFolder folder;
  recorded({program_path("forked_child_gives_back_what_it_got")}, folder / "%p.json").run();
  const std::map<int, Json> all = read_all(folder);
  REQUIRE(all.size() == 2);
  CHECK(all.rbegin()->second.at("memory_bytes").get<uint64_t>() > 20000 * 1001);
}

TEST_CASE("an object whose release was not seen is gone when its address is handed out again") {
  TemporaryFolder folder;
  const Outcome outcome =
      recorded({program_path("fork_handlers_free_large_blocks")}, folder / "s.json").run();
  INFO(outcome);
  CHECK(outcome.clean());
  const Row row = rows_of(read(folder / "s.json")).at({300001, 0});
  CHECK(row.calls == 10);
  CHECK(row.live_at_peak <= 2);  // glibc's first block of that size has an address of its own
}

TEST_CASE("the peak of a program with one thread is exact, however it came about") {
  TemporaryFolder folder;
  const std::string path = folder / "sizes.json";
  for (const std::string way : {"plain", "shared", "static"}) {
    Program program({program_path("peak_of_random_sizes", way)});
    if (way == "plain") program.preloaded();
    const Outcome outcome = program.with("PKTMALLOC_SIZES", path).run();
    CHECK(outcome.status == 0);
    CHECK(outcome.err.empty());
    const Json recording = read(path);
    const Rows rows = rows_of(recording);
    std::istringstream lines(outcome.out);
    size_t count = 0;
    for (uint64_t bytes, calls, live; lines >> bytes >> calls >> live; ++count) {
      INFO(bytes);
      CHECK(rows.at({bytes, 0}) == Row{calls, live, 1});
    }
    CHECK(count == 500);
    CHECK(recording.at("peak_bytes") == bytes_at_peak(rows));
  }
}

TEST_CASE("large objects do not decide which moment is the peak") {
  TemporaryFolder folder;
  const Outcome outcome =
      recorded({program_path("peak_before_a_large_object")}, folder / "s.json").run();
  INFO(outcome);
  CHECK(outcome.clean());
  const Rows rows = rows_of(read(folder / "s.json"));
  CHECK(rows.at({5001, 0}) == Row{2000, 2000, 1});
  CHECK(rows.at({262144, 0}) == Row{1, 1, 1});
  CHECK(rows.at({262145, 0}) == Row{200, 0, 1});
}

TEST_CASE("the record says what the classes had in memory at most, and with which table") {
  for (const std::string classes : {"default", "1024,5008,262144"}) {
    TemporaryFolder folder;
    const Outcome outcome =
        recorded({program_path("peak_before_a_large_object")}, folder / "s.json")
            .with("PKTMALLOC_CLASSES", classes)
            .with("PKTMALLOC_STATS", folder / "t.json")
            .with("PKTMALLOC_AGE", "1h")  // nothing goes back
            .run();
    INFO(outcome);
    CHECK(outcome.clean());
    const Json recording = read(folder / "s.json");
    const Json statistics = read(folder / "t.json");
    Json bytes = Json::array();
    for (const Json& c : statistics.at("classes")) bytes.push_back(c.at("bytes"));
    if (classes != "default") CHECK(bytes == Json({1024, 5008, 262144}));
    CHECK(recording.at("classes").size() >= bytes.size());
    for (const Json& size : bytes) {
      CHECK(std::count(recording.at("classes").begin(), recording.at("classes").end(), size) == 1);
    }
    const uint64_t memory = recording.at("memory_bytes");
    CHECK(memory > 2000 * 5001);
    // Without the blocks that come later.
    const double peak = 2000 * (classes == "default" ? 5120 : 5008);
    CHECK(memory == Approx(peak).epsilon(0.01));
  }
}

TEST_CASE("samples of a heap profile count as memory of the classes") {
  TemporaryFolder folder;
  const Outcome outcome = recorded({program_path("peak_before_a_large_object")}, folder / "s.json")
                              .with("PKTMALLOC_PROFILE", folder / "p.heap")
                              .with("PKTMALLOC_PROFILE_RATE", "1")
                              .run();
  INFO(outcome);
  CHECK(outcome.clean());
  CHECK(read(folder / "s.json").at("memory_bytes") > 2000 * 5001);
}

TEST_CASE("the record counts how often the program asks how much it may use") {
  TemporaryFolder folder;
  const auto asked = [&](const std::string& program, const std::string& library) {
    recorded({program_path(program)}, folder / "s.json")
        .with("LD_PRELOAD", build_path(library))
        .run();
    return read(folder / "s.json").at("usable_sizes").get<uint64_t>();
  };
  const uint64_t times = asked("usable_size_is_writable", "libpktmalloc.so");
  CHECK(times > 0);
  CHECK(asked("usable_size_is_writable", "libpktmalloc-hardened.so") == times);
  CHECK(asked("peak_before_a_large_object", "libpktmalloc.so") == 0);
}

TEST_CASE("programs with threads, forks and signals of their own end as without a record",
          "[.long]") {
  for (const std::string name :
       {"everything_at_once", "fork_storm_from_many_threads", "fork_while_others_allocate",
        "fork_handlers_may_allocate", "fork_in_a_signal_handler", "signals_interrupt_allocations",
        "detached_threads_work_while_main_exits", "vfork_and_exec_leave_the_parent_intact",
        "allocation_in_key_destructors", "allocation_in_thread_local_destructors",
        "allocation_before_constructors", "realloc_crosses_between_pool_and_next_allocator",
        "failed_realloc_leaves_the_block", "free_keeps_errno", "threads_with_the_smallest_stacks",
        "plugin_loaded_and_unloaded_repeatedly", "every_operator_new_and_delete"}) {
    TemporaryFolder folder;
    const Outcome outcome = recorded({program_path(name)}, folder / "%p.json").run();
    INFO(name << ": " << outcome);
    CHECK(outcome.clean());
    read_all(folder);  // each is whole
  }
}

TEST_CASE("real programs do the same with their sizes recorded", "[.long]") {
  const std::vector<std::string> programs[] = {
      {"sqlite3", ":memory:",
       "create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n "
       "limit 20000) insert into t select i, hex(i * 7919) from n; "
       "select count(*), max(b) from t where a % 3 = 1;"},
      {"perl", "-e", "$h{$_ % 5003} .= $_ for 1 .. 100000; print length join '', sort values %h"},
      {"/usr/bin/python3", "-c",
       "import json, threading as t\n"
       "out = []\n"
       "def work(n): out.append(len(json.dumps({str(i): [i] * (i % 9) for i in range(9000)})))\n"
       "all = [t.Thread(target=work, args=(n,)) for n in range(4)]\n"
       "[x.start() for x in all]; [x.join() for x in all]; print(sum(out))"}};
  for (const std::vector<std::string>& argv : programs) {
    if (!at_hand(argv[0])) continue;
    TemporaryFolder folder;
    const auto set = [](Program program) -> Program {
      return program.with("PYTHONMALLOC", "malloc").with("PERL_HASH_SEED", "0");
    };
    const Outcome without = set(Program(argv)).run();
    const Outcome with = set(recorded(argv, folder / "s.json")).run();
    INFO(argv[0] << ": " << with);
    CHECK(with.status == 0);
    CHECK(with.out == without.out);
    CHECK(with.err == without.err);
    CHECK(bytes_at_peak(rows_of(read(folder / "s.json"))) > 100000);
  }
}

TEST_CASE("a server's sizes are recorded") {
  skip_without({"redis-server", "redis-cli"});
  TemporaryFolder folder;
  const std::string script =
      "LD_PRELOAD=" + library_path() +
      " PKTMALLOC_SIZES=%p.json redis-server --port 0 "
      "--unixsocket socket --save '' --daemonize no >log 2>&1 & "
      "until [ \"$(redis-cli -s socket ping 2>&1)\" = PONG ]; do sleep 0.02; done; "
      "redis-cli -s socket eval \"for i = 1, 20000 do redis.call('set', i, string.rep('x', 777)) "
      "end\" "
      "0 >/dev/null; "
      "redis-cli -s socket shutdown nosave; wait $!";
  const Outcome outcome = Program({"sh", "-c", script}).in(folder.path()).run();
  INFO(outcome);
  CHECK(outcome.clean());
  uint64_t values = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    if (entry.path().extension() != ".json") continue;
    const Json recording = read(entry.path());
    CHECK(recording.at("program") == "redis-server");
    for (const auto& [request, row] : rows_of(recording)) {
      if (request.first > 777 && request.first < 800) values += row.live_at_peak;
    }
  }
  CHECK(values >= 20000);
}

TEST_CASE("where memory for the record is refused, it ends in one line and the program goes on") {
  const std::string line =
      "pktmalloc: PKTMALLOC_SIZES: no memory for the record of sizes, which ends here\n";
  size_t incomplete = 0;
  for (int k = 1;; ++k) {
    TemporaryFolder folder;
    Outcome outcome =
        Program({program_path("work_while_memory_is_refused")})
            .with("LD_PRELOAD", build_path("tests/plugins/refusing.so") + " " + library_path())
            .with("PKTMALLOC_SIZES", folder / "%p.json")
            .with("REFUSE", "mmap " + std::to_string(k) + " " + std::to_string(k))
            .run();
    INFO(k << ": " << outcome);
    CHECK(outcome.status == 0);
    REQUIRE(outcome.out.rfind("refused ", 0) == 0);
    if (outcome.out == "refused 0\n") break;
    // A line from each process that was refused, none when it was the heap's own mmap.
    while (outcome.err.rfind(line, 0) == 0) outcome.err.erase(0, line.size());
    CHECK(outcome.err.empty());
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      incomplete += read(entry.path()).at("missing") > 0 ? 1 : 0;
    }
  }
  CHECK(incomplete >= 2);  // for want of a thread's bits, and of the table of live objects
}

TEST_CASE("a file that cannot be written is told in one line") {
  const Outcome outcome = recorded({program_path("hello")}, "/nonexistent/s.json").run();
  INFO(outcome);
  CHECK(outcome.status == 7);
  CHECK(outcome.out == "hello\n");
  CHECK(outcome.err ==
        "pktmalloc: cannot write sizes to /nonexistent/s.json: No such file or directory\n");
}

TEST_CASE("the path takes %p, %e and %%, and the file takes its place whole") {
  TemporaryFolder folder;
  folder.write("hello-plain.%.json", "old");
  const Outcome outcome = recorded({program_path("hello")}, folder / "%e.%%.json").run();
  INFO(outcome);
  CHECK(outcome.err.empty());
  CHECK(read(folder / "hello-plain.%.json").at("program") == "hello-plain");
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    ++files;
  }
  CHECK(files == 1);
}

TEST_CASE("PKTMALLOC_TELL: that process says where its sizes are, and what reads them") {
  TemporaryFolder folder;
  // ls closes its stderr before libraries end.
  const Outcome outcome =
      recorded({"sh", "-c", "PKTMALLOC_TELL=$$ exec ls s.json"}, "s.json").in(folder.path()).run();
  INFO(outcome);
  CHECK(outcome.err.find("pktmalloc: sizes are in " + folder / "s.json" +
                         "; read them with: pktmalloc tune " + folder / "s.json" + "\n") !=
        std::string::npos);
}

TEST_CASE("the checked library says that it records no sizes, a setuid program does nothing") {
  TemporaryFolder folder;
  const Outcome checked = Program({program_path("hello")})
                              .with("LD_PRELOAD", build_path("libpktmalloc-checked.so"))
                              .with("PKTMALLOC_SIZES", folder / "s.json")
                              .run();
  INFO(checked);
  CHECK(checked.status == 7);
  CHECK(checked.err == "pktmalloc: PKTMALLOC_SIZES=" + (folder / "s.json") +
                           " does nothing here: it is for libpktmalloc.so\n");
  CHECK_FALSE(std::filesystem::exists(folder / "s.json"));
  const std::string copy = setuid_copy(program_path("hello", "static"), folder);
  REQUIRE(chmod(folder.path().c_str(), 0777) == 0);
  const Outcome setuid = Program({"setpriv", "--reuid=65534", "--clear-groups", copy})
                             .with("PKTMALLOC_SIZES", folder / "s.json")
                             .run();
  INFO(setuid);
  CHECK(setuid.status == 7);
  CHECK(setuid.err.empty());
  CHECK_FALSE(std::filesystem::exists(folder / "s.json"));
}
