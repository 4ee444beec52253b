// SPDX-License-Identifier: MIT
// pktmalloc exporter: what it tells of the processes of this machine, and to whom.
#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/controlled.h"
#include "tests/count.h"
#include "tests/patience.h"
#include "tests/program.h"
#include "tests/running.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"
#include "tools/command/exporter/unit.h"
#include "tools/command/system/image.h"

namespace {

const std::string kCommand = build_path("pktmalloc");

struct Exporter : Running {
  explicit Exporter(const Words& options = {}, const Running::Environment& environment = {})
      : Running(words(options), environment) {
    const std::string url = line("listening at http://");
    place = url.substr(0, url.find('/'));
  }
  static Words words(const Words& options) {
    Words all = {kCommand, "exporter", "--listen", "127.0.0.1:0"};
    all.insert(all.end(), options.begin(), options.end());
    return all;
  }
  std::string place;  // 127.0.0.1:41253
};

// "200 text/plain; ...", then the body. In Python's own words.
std::string get(const std::string& place, const std::string& path,
                const std::string& method = "GET") {
  const Outcome outcome = Program({"python3", "-c",
                                   "import http.client, sys\n"
                                   "c = http.client.HTTPConnection(sys.argv[1], timeout=60)\n"
                                   "c.request(sys.argv[3], sys.argv[2])\n"
                                   "r = c.getresponse()\n"
                                   "print(r.status, r.getheader('Content-Type'))\n"
                                   "sys.stdout.flush(); sys.stdout.buffer.write(r.read())",
                                   place, path, method})
                              .run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  return outcome.out;
}

// Of a process, by metric's name and its other labels.
std::map<std::string, uint64_t> metrics_of(const std::string& text, const std::string& pid) {
  std::map<std::string, uint64_t> all;
  const std::regex sample(R"re((\w+)\{(?:(size="\d+"),)?pid="(\d+)",[^}]*\} (\d+))re");
  std::istringstream lines(text);
  std::smatch found;
  for (std::string line; std::getline(lines, line);) {
    if (!std::regex_match(line, found, sample) || found[3] != pid) continue;
    all[found[1].str() + (found[2].matched ? "{" + found[2].str() + "}" : "")] =
        std::stoull(found[4]);
  }
  return all;
}

std::string metrics_once(const Words& options = {}) {
  Words words = {kCommand, "exporter", "--once"};
  words.insert(words.end(), options.begin(), options.end());
  const Outcome outcome = Program(words).run();
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(outcome.err.empty());
  return outcome.out;
}

void check_refusal(const Words& options, const std::string& part) {
  Words words = {kCommand, "exporter"};
  words.insert(words.end(), options.begin(), options.end());
  check_refused(Program(words).run(), part);
}

}  // namespace

TEST_CASE("every process that has the library is told, with the numbers that stat tells") {
  const Exporter exporter;
  const Waiting preloaded({}), archive({}, "static");
  const std::string text = get(exporter.place, "/metrics");
  CHECK(text.starts_with("200 text/plain; version=0.0.4; charset=utf-8\n"));
  for (const Waiting* process : {&preloaded, &archive}) {
    const auto told = metrics_of(text, process->id);
    const Outcome stat = Program({kCommand, "stat", "--prom", process->id}).run();
    CHECK(stat.status == 0);
    std::istringstream lines(stat.out);
    unsigned compared = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line[0] == '#' || has(line, "resident_bytes") || has(line, "passed_requests")) continue;
      const size_t end = line.rfind(' ');
      const std::string name = line.substr(0, end);
      if (name.starts_with("pktmalloc_class_") && told.count(name) == 0) continue;  // never used
      INFO(line);
      CHECK(told.at(name) == std::stoull(line.substr(end)));
      ++compared;
    }
    CHECK(compared > 30);
    CHECK(told.at("pktmalloc_rss_bytes") > 0);
    CHECK(told.count("pktmalloc_resident_bytes") == 0);
    CHECK(told.at("pktmalloc_trips_total") > 0);
  }
  CHECK(has(text, "pktmalloc_info{pid=\"" + preloaded.id + "\",program=\"tells_itself-p"));
  CHECK(has(text, "library=\"libpktmalloc.so\"} 1\n"));
}

TEST_CASE("processes come and go between scrapes") {
  const Exporter exporter;
  Waiting process({});
  const std::string label = "pid=\"" + process.id + "\"";
  CHECK(has(get(exporter.place, "/metrics"), label));
  CHECK(has(get(exporter.place, "/"), process.id + " tells_itself-p"));
  process.end();
  const auto end = end_of_patience();
  while (has(get(exporter.place, "/metrics"), label)) {
    REQUIRE(std::chrono::steady_clock::now() < end);
  }
}

TEST_CASE("the largest processes and classes are told, and how many are left out") {
  const Waiting one({}), two({}), three({});
  const std::string all = metrics_once();
  const std::string some = metrics_once({"--processes", "1", "--classes", "2"});
  CHECK(count(all, "\npktmalloc_rss_bytes{") >= 3);
  CHECK(count(some, "\npktmalloc_rss_bytes{") == 1);
  CHECK(count(some, "\npktmalloc_class_live{") == 2);
  CHECK(has(all, "\npktmalloc_exporter_left_out_processes 0\n"));
  CHECK_FALSE(has(some, "\npktmalloc_exporter_left_out_processes 0\n"));
  CHECK(count(metrics_once({"--classes", "0"}), "\npktmalloc_class_live{") == 0);
}

TEST_CASE("a program's name cannot break a line") {
  const TemporaryFolder folder;
  const std::string odd = folder / "a\"b\\c";
  std::filesystem::copy(program_path("tells_itself"), odd);
  Running process({odd, "waits"}, {{"LD_PRELOAD", library_path()}});
  process.line("ready");
  const std::string text = metrics_once();
  CHECK(has(text, "pktmalloc_rss_bytes{pid=\"" + std::to_string(process.pid()) +
                      R"(",program="a\"b\\c",unit=)"));
}

TEST_CASE("a unit is the innermost service, else the scope, else the group") {
  using pktmalloc::unit_in;
  CHECK(unit_in("0::/system.slice/redis.service\n") == "redis.service");
  CHECK(unit_in("0::/user.slice/user-1000.slice/user@1000.service/app.slice/app.service/sub\n") ==
        "app.service");
  CHECK(unit_in("0::/user.slice/user-1000.slice/user@1000.service/app.slice/term-1.scope\n") ==
        "term-1.scope");
  CHECK(unit_in("0::/user.slice/user-1000.slice/session-3.scope\n") == "session-3.scope");
  CHECK(unit_in("12:memory:/other\n1:name=systemd:/system.slice/docker-4f1c.scope\n") ==
        "docker-4f1c.scope");
  CHECK(unit_in("0::/kubepods/pod1/4f1c\n") == "4f1c");
  CHECK(unit_in("0::/\n").empty());
  CHECK(unit_in("").empty());
}

TEST_CASE("a heap profile is told of a process that has control and a profile") {
  const TemporaryFolder folder;
  const Exporter exporter({}, {{"TMPDIR", folder.path()}});
  const Waiting profiled(controlled({{"PKTMALLOC_PROFILE", folder / "own.heap"}}));
  const Waiting unprepared({}), unprofiled(controlled());
  const std::string heap = "/debug/pprof/heap?pid=";
  const std::string profile = get(exporter.place, heap + profiled.id);
  CHECK(profile.starts_with("200 application/octet-stream\n"));
  CHECK(has(profile, "inuse_space"));
  CHECK(has(profile, "tells_itself-plain"));
  CHECK(std::filesystem::is_empty(folder.path()));
  const std::string no_control = get(exporter.place, heap + unprepared.id);
  CHECK(no_control.starts_with("404 "));
  CHECK(has(no_control, "pktmalloc run --control"));
  CHECK(get(exporter.place, heap + unprofiled.id).starts_with("404 "));
  CHECK(has(get(exporter.place, heap + "999999999"), "there is no process 999999999"));
  CHECK(get(exporter.place, "/debug/pprof/heap").starts_with("400 "));
  CHECK(std::filesystem::is_empty(folder.path()));
  const Exporter without({"--no-profiles"});
  CHECK(get(without.place, heap + profiled.id).starts_with("403 "));
  CHECK(get(without.place, "/metrics").starts_with("200 "));
}

TEST_CASE("live objects by type are told where that is asked for, a tenth of the time") {
  const Exporter exporter({"--objects"}), without;
  Running program({program_path("holds_known_types"), "wait"},
                  {{"LD_PRELOAD", library_path()}, {"PKTMALLOC_PROFILE_LEAKS", "1"}});
  const std::string objects = "/objects?pid=" + program.line("ready ");
  CHECK(has(get(without.place, objects), "403 "));
  CHECK(get(exporter.place, "/objects").starts_with("400 "));
  CHECK(get(exporter.place, "/objects?pid=redis").starts_with("400 "));
  const auto in_its_turn = [&](const std::string& path) {
    const auto end = end_of_patience();
    std::string answer = get(exporter.place, path);
    while (answer.starts_with("503 ") && std::chrono::steady_clock::now() < end) {
      answer = get(exporter.place, path);
    }
    return answer;
  };
  CHECK(has(in_its_turn("/objects?pid=999999999"), "there is no process 999999999"));
  CHECK(has(in_its_turn("/objects?pid=1"), "404 "));
  const std::string answer = in_its_turn(objects);
  INFO(answer);
  REQUIRE(answer.starts_with("200 application/json\n"));
  CHECK(has(answer, "\"objects\": 1100,\n      \"bytes\": 1689600,\n      \"type\": \"Packet\""));
  CHECK(has(answer, "make<Packet>"));
  // To look takes longer than to ask again, unless the machine is busy.
  const auto end = end_of_patience();
  std::string again = get(exporter.place, objects);
  while (again.starts_with("200 ") && std::chrono::steady_clock::now() < end) {
    again = get(exporter.place, objects);
  }
  CHECK(has(again, "503 text/plain; charset=utf-8\ntoo soon"));
}

TEST_CASE("live objects are read with the rights of the process's user") {
  if (geteuid() != 0) skip("only root may become another user");
  const Exporter exporter({"--objects"});
  Running process({"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env",
                   "LD_PRELOAD=" + library_path(), program_path("holds_known_types"), "wait"});
  process.line("ready ");
  const std::string answer = get(exporter.place, "/objects?pid=" + std::to_string(process.pid()));
  INFO(answer);
  CHECK(answer.starts_with("200 "));
}

TEST_CASE(
    "live objects of a process that is protected since it changed its user are read by root") {
  if (geteuid() != 0) skip("only root may become another user");
  const Exporter exporter({"--objects"});
  Running process({"perl", "-e",
                   "use POSIX; $| = 1; @all = map { [1] } 1..10000; POSIX::setuid(65534);"
                   "print qq(ready\\n); sleep 1000"},
                  {{"LD_PRELOAD", library_path()}});
  process.line("ready");
  const std::string answer = get(exporter.place, "/objects?pid=" + std::to_string(process.pid()));
  INFO(answer);
  CHECK(answer.starts_with("200 "));
  CHECK(has(answer, "\"exact\": false"));
}

TEST_CASE("a process can be read while it becomes another program, again and again") {
  TemporaryFolder folder;
  std::ofstream(folder / "again") << "exec sh \"$0\"\n";
  const Running shell({"sh", folder / "again"});
  const pktmalloc::Process process(shell.pid());
  for (int i = 0; i < 20'000; ++i) CHECK_NOTHROW(process.mappings());
  CHECK_THROWS_WITH(pktmalloc::Process(0x3fffffff).mappings(), "there is no process 1073741823");
}

TEST_CASE("files of a process are read with no capability that it has not") {
  if (geteuid() != 0) skip("only root has capabilities");
  const TemporaryFolder folder;
  const std::string program = folder / "program";
  std::filesystem::copy_file(program_path("holds_known_types"), program);
  const auto objects = [&](Words words) {
    words.insert(words.end(), {program, "wait"});
    Running process(std::move(words),
                    {{"LD_PRELOAD", library_path()}, {"PKTMALLOC_PROFILE_LEAKS", "1"}});
    const std::string pid = process.line("ready ");
    return Program({kCommand, "exporter", "--objects-of", pid}).run().out;
  };
  // Nobody may read it but by a capability, the owner neither.
  std::filesystem::permissions(program, std::filesystem::perms::owner_exec);
  CHECK(has(objects({"env"}), "make<Packet>"));
  std::filesystem::permissions(program,
                               std::filesystem::perms::all & ~std::filesystem::perms::owner_read);
  const std::string without = objects({"setpriv", "--bounding-set=-all", "--inh-caps=-all"});
  INFO(without);
  CHECK(has(without, "\"objects\": 1100"));
  CHECK(!has(without, "make<Packet>"));
}

TEST_CASE("files of a process are read with its user's rights, whatever its name is") {
  if (geteuid() != 0) skip("only root may become another user");
  const TemporaryFolder folder;
  REQUIRE(chmod(folder.path().c_str(), 0755) == 0);
  for (const char* name : {"program", "Uid: 0 0", "x Gid: 0 0"}) {
    const std::string program = folder / name;
    std::filesystem::copy_file(program_path("holds_known_types"), program);
    REQUIRE(chmod(program.c_str(), 0711) == 0);
    Running process(
        {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program, "wait"},
        {{"LD_PRELOAD", library_path()}, {"PKTMALLOC_PROFILE_LEAKS", "1"}});
    const std::string pid = process.line("ready ");
    const std::string told = Program({kCommand, "exporter", "--objects-of", pid}).run().out;
    INFO(name << ": " << told);
    CHECK(has(told, "\"objects\": 1100"));
    CHECK(!has(told, "make<Packet>"));
  }
}

TEST_CASE("files of a process are looked for under its root, and links stay there") {
  if (geteuid() != 0) skip("only root may change a root");
  const TemporaryFolder folder;
  folder.write("outside", "outside");
  std::filesystem::create_directories(folder / "root/sub");
  folder.write("root/sub/file", "inside");
  std::filesystem::create_symlink("/sub", folder / "root/within");
  std::filesystem::create_symlink(folder / "outside", folder / "root/out");
  std::filesystem::create_symlink("../../../../../../../.." + (folder / "outside"),
                                  folder / "root/up");
  REQUIRE(mkfifo((folder / "root/pipe").c_str(), 0600) == 0);
  Running process(
      {"perl", "-e", "$| = 1; chroot $ARGV[0]; print qq(ready\\n); sleep 1000", folder / "root"});
  process.line("ready");
  pktmalloc::RunningImage image(process.pid(), process.pid());
  for (const bool kept : {false, true}) {
    if (kept) image.keep_open();
    const pktmalloc::FoundFile found = image.file("/within/file");
    std::string text;
    std::ifstream(found.path()) >> text;
    CHECK(text == "inside");
    for (const char* wrong : {"/out", "/up", "/pipe", "/none", "/sub"}) {
      CHECK(image.file(wrong).path().empty());
    }
    CHECK(std::filesystem::exists(image.file(image.executable()).path()));
  }
}

TEST_CASE("a heap profile is read with the rights and the files of its process") {
  if (geteuid() != 0) skip("only root may become another user");
  const Exporter exporter;
  const std::string heap = "/debug/pprof/heap?pid=";
  const Words with_library = {"env", "LD_PRELOAD=" + library_path(), "PKTMALLOC_CONTROL=1",
                              "PKTMALLOC_PROFILE=/tmp/%p.heap"};
  const auto profile_of = [&](Words words) {
    Running process(std::move(words));
    process.line("ready");
    return get(exporter.place, heap + std::to_string(process.pid()));
  };
  const auto words = [&](Words before, const Words& command) {
    before.insert(before.end(), with_library.begin(), with_library.end());
    before.insert(before.end(), command.begin(), command.end());
    return before;
  };
  const Words waits = {program_path("tells_itself"), "waits"};
  const Words changes_user = {
      "perl", "-e", "use POSIX; $| = 1; POSIX::setuid(65534); print qq(ready\\n); sleep 1000"};
  const Words as_nobody = {"setpriv", "--reuid=65534", "--clear-groups"};
  CHECK(profile_of(words(as_nobody, waits)).starts_with("200 "));
  CHECK(profile_of(words({}, changes_user)).starts_with("200 "));
  // Another /tmp, unless we lie in it ourselves.
  const Words own_files = {
      "unshare",
      "--mount",
      "sh",
      "-c",
      "case $PWD in /tmp/*) ;; *) mount -t tmpfs tmpfs /tmp ;; esac && exec \"$@\"",
      "sh"};
  if (Program({"unshare", "--mount", "true"}).run().status != 0) {
    return leave_out("no mount namespace of its own is to be had");
  }
  CHECK(profile_of(words(own_files, waits)).starts_with("200 "));
}

TEST_CASE("what a process writes for a heap profile cannot lead the exporter astray") {
  if (geteuid() != 0) skip("only root may become another user");
  const TemporaryFolder folder;
  folder.write("secret", "heap profile: 0: 0 [0: 0] @ heapprofile\n");
  std::filesystem::permissions(folder / "secret", std::filesystem::perms::owner_read);
  const Exporter exporter;
  // Takes the name that the library would, and says that it is done.
  const auto impostor = [&](const std::string& makes) {
    return Words{
        "setpriv",
        "--reuid=65534",
        "--clear-groups",
        "/usr/bin/python3",
        "-c",
        "import os, socket\n"
        "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
        "s.bind('\\0pktmalloc/%d/%d' % (os.stat('/proc/self/ns/pid').st_ino, os.getpid()))\n"
        "s.listen()\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        "  c, _ = s.accept()\n"
        "  path = c.recv(9999).decode().split(' ')[1]\n"
        "  " +
            makes +
            "\n"
            "  c.send(b'+done')\n"};
  };
  const auto profile_of = [&](const std::string& makes) {
    Running process(impostor(makes));
    process.line("ready");
    return get(exporter.place, "/debug/pprof/heap?pid=" + std::to_string(process.pid()));
  };
  const std::string linked = profile_of("os.symlink('" + (folder / "secret") + "', path)");
  INFO(linked);
  CHECK(linked.starts_with("404 "));
  CHECK(has(linked, "ermission denied"));
  CHECK(profile_of("os.symlink('/dev/zero', path)").starts_with("404 "));
  CHECK(get(exporter.place, "/metrics").starts_with("200 "));
}

TEST_CASE("a process that does not answer keeps nobody else waiting") {
  const Exporter exporter;
  // Listens under the name that the library would take, and says nothing.
  Running deaf(
      {"python3", "-c",
       "import os, signal, socket\n"
       "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
       "s.bind('\\0pktmalloc/%d/%d' % (os.stat('/proc/self/ns/pid').st_ino, os.getpid()))\n"
       "s.listen()\n"
       "print('ready', flush=True)\n"
       "signal.pause()"});
  deaf.line("ready");
  const std::string id = std::to_string(deaf.pid());
  const std::string heap = "/debug/pprof/heap?pid=" + id;
  const auto end = end_of_patience();
  // Either of the two clients may come first; this one asks until it is served.
  Running first({"python3", "-c",
                 "import http.client, sys, time\n"
                 "print('asks', flush=True)\n"
                 "while True:\n"
                 "  c = http.client.HTTPConnection(sys.argv[1], timeout=600)\n"
                 "  c.request('GET', sys.argv[2])\n"
                 "  r = c.getresponse()\n"
                 "  if r.status != 503: break\n"
                 "  time.sleep(0.1)\n"
                 "print('told', r.status, r.read().decode(), flush=True)",
                 exporter.place, heap});
  first.line("asks");
  while (!get(exporter.place, heap).starts_with("503 ")) {
    REQUIRE(std::chrono::steady_clock::now() < end);
  }
  CHECK(get(exporter.place, "/metrics").starts_with("200 "));
  // One that is stopped is told at once.
  deaf.send(SIGSTOP);
  const std::string told = first.line("told ");
  INFO(told);
  CHECK(has(told, "404 "));
  CHECK(has(told, "process " + id + " was stopped before it answered"));
}

TEST_CASE("the exporter ends by a signal with status 0, and answers nothing but GET and HEAD") {
  Exporter exporter;
  CHECK(has(get(exporter.place, "/nowhere"), "404 "));
  CHECK(has(get(exporter.place, "/nowhere"), "there is no /nowhere; there are /metrics"));
  CHECK(get(exporter.place, "/metrics", "HEAD") ==
        "200 text/plain; version=0.0.4; charset=utf-8\n");
  const std::string port = exporter.place.substr(exporter.place.rfind(':') + 1);
  const Outcome head = Program({"bash", "-c",
                                "exec 3<>/dev/tcp/127.0.0.1/" + port +
                                    "; printf 'HEAD /metrics HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3"})
                           .run();
  CHECK(head.out.starts_with("HTTP/1."));
  CHECK(head.out.ends_with("\r\n\r\n"));
  for (const char* method : {"POST", "PUT"}) {
    CHECK_FALSE(get(exporter.place, "/metrics", method).starts_with("200 "));
  }
  exporter.send(SIGTERM);
  int status = -1;
  CHECK(waitpid(exporter.pid(), &status, 0) == exporter.pid());
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("an address where nobody can listen is refused in one line") {
  const Exporter exporter;
  check_refusal({"--listen", exporter.place}, "cannot listen at 127.0.0.1:");
  for (const char* address : {"9464", "127.0.0.1:", ":9464", "127.0.0.1:99999", "::1:80", "a:b"}) {
    check_refusal({"--listen", address}, "accepted: HOST:PORT");
  }
  check_refusal({"--listen", "192.0.2.1:80"}, "cannot listen at 192.0.2.1:80: ");
  check_refusal({"--profile-of", "1", "--objects-of", "1"}, "excludes");
  check_refusal({"--processes", "0"}, "0 is not a number from 1 to 10000");
}

TEST_CASE("a profile that nobody reads leaves nothing") {
  const TemporaryFolder folder, place;
  const Waiting profiled(controlled({{"PKTMALLOC_PROFILE", folder / "own.heap"}}));
  const std::string script =
      build_path("pktmalloc") + " exporter --profile-of " + profiled.id + " | true";
  const Outcome outcome = Program({"bash", "-c", script}).with("TMPDIR", place.path()).run();
  INFO(outcome);
  CHECK(std::filesystem::is_empty(place.path()));
}

TEST_CASE("who asks for one process and names none is refused, and nothing listens") {
  for (const std::string option : {"--profile-of", "--objects-of"}) {
    for (const char* pid : {"", "0", "x"}) check_refusal({option, pid}, "that is no process id");
  }
}

TEST_CASE("Prometheus scrapes it, and its rules are right") {
  skip_without({"prometheus", "promtool"});
  for (const Words& words : {Words{"promtool", "check", "rules", "docs/fleet/alerts.yml"},
                             Words{"promtool", "test", "rules", "tests/fleet/alerts_test.yml"}}) {
    const Outcome outcome = Program(words).run();
    INFO(outcome);
    CHECK(outcome.status == 0);
  }
  const TemporaryFolder folder;
  const Exporter exporter;
  folder.write("prometheus.yml",
               "global: {scrape_interval: 1s}\n"
               "scrape_configs: [{job_name: pktmalloc, static_configs: [{targets: ['" +
                   exporter.place + "']}]}]\n");
  const std::string place = "127.0.0.1:19464";
  const Running prometheus({"prometheus", "--config.file=" + folder / "prometheus.yml",
                            "--storage.tsdb.path=" + folder / "data",
                            "--web.listen-address=" + place, "--log.level=error"});
  const Waiting stays({});
  const auto told = [&](const std::string& id) {
    const Outcome outcome =
        Program({"python3", "-c",
                 "import urllib.request, sys\n"
                 "print(urllib.request.urlopen(sys.argv[1], timeout=60).read().decode())",
                 "http://" + place + "/api/v1/query?query=pktmalloc_allocated_bytes%7Bpid%3D%22" +
                     id + "%22%7D"})
            .run();
    return has(outcome.out, "\"pid\":\"" + id + "\"");
  };
  const auto await = [&](const std::string& id, bool wanted) {
    const auto end = end_of_patience();
    while (told(id) != wanted) REQUIRE(std::chrono::steady_clock::now() < end);
  };
  for (int i = 0; i < 3; ++i) {
    Waiting goes({});
    await(goes.id, true);
    const std::string id = goes.id;
    goes.end();
    await(id, false);
  }
  await(stays.id, true);
}
