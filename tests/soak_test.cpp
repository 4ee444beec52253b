// SPDX-License-Identifier: MIT
// The soak (tools/soak): it finds what differs and what grows, and says so by its exit status.
#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/program.h"
#include "tests/skip.h"

namespace {

const char kPython[] = "/usr/bin/python3";

Outcome soak(const std::string& library, const std::vector<std::string>& programs) {
  std::vector<std::string> command = {kPython, "tools/soak/soak.py", "--minutes", "0", library};
  for (const std::string& program : programs) {
    command.push_back("--only");
    command.push_back(program);
  }
  return Program(command).run();
}

bool says(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

Outcome python(const std::string& script) {
  return Program({kPython, "-c", "import sys\nsys.path.insert(0, 'tools/soak')\n" + script}).run();
}

}  // namespace

TEST_CASE("a program and a server that do the same with the library pass") {
  const Outcome outcome = soak(library_path(), {"perl", "redis-server"});
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(outcome.err.empty());
  CHECK(!says(outcome.out, "DIFFERENT"));
  CHECK(says(outcome.out, "\n2 runs of 2 programs, 0 of them with faults\n"));
}

TEST_CASE("a server that refuses root runs as its own user") {
  skip_without({"pgbench"});
  const Outcome outcome = soak(library_path(), {"postgres"});
  INFO(outcome);
  CHECK(outcome.status == 0);
  CHECK(outcome.err.empty());
  CHECK(says(outcome.out, "\n1 runs of 1 programs, 0 of them with faults\n"));
}

TEST_CASE("a program that does otherwise with the library is told, and fails") {
  const Outcome outcome = soak(build_path("tests/plugins/talking.so"), {"perl"});
  INFO(outcome);
  CHECK(outcome.status == 1);
  CHECK(says(outcome.out, "DIFFERENT"));
  CHECK(says(outcome.out, "+I am here"));
  CHECK(says(outcome.out, "\n1 runs of 1 programs, 1 of them with faults\n"));
}

TEST_CASE("a library or a program that there is not is told in one line") {
  for (const Outcome& outcome : {soak("nowhere.so", {}), soak(library_path(), {"hercules"})}) {
    INFO(outcome);
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  }
}

TEST_CASE("growth is what goes on after the first turns, beyond what comes and goes") {
  const Outcome outcome = python(R"PY(
from soak import Tally
def growth(*mib): return Tally(memory=list(mib)).growth()
assert growth(10, 20, 30, 30, 30, 31, 30) == ""
assert growth(10, 20, 30, 60, 30, 60, 30) == ""
assert growth(30, 30, 30, 60) == ""
assert growth(30, 30, 30, 40, 50, 60) == "grew from 30.0 to 60.0 MiB", growth(30, 30, 30, 40, 50, 60)
)PY");
  INFO(outcome);
  CHECK(outcome.clean());
}

TEST_CASE("a server's own memory is what it and its children do not share, and its death is told") {
  const Outcome outcome = python(R"PY(
import server
server.REST_SECONDS = 0
SCRIPT = """
import mmap, os, socket
shared, own = mmap.mmap(-1, 64 << 20), bytearray(b"x") * (30 << 20)
for page in range(0, 64 << 20, 4096): shared[page] = 1
life_of_parent, held = os.pipe()
if os.fork() == 0:
    os.close(held)
    own = bytearray(b"y") * (30 << 20)
else:
    place = socket.socket(socket.AF_UNIX)
    place.bind("socket")
    place.listen()
os.read(life_of_parent, 1)
"""
class Sharing(server.Server):
    name = "sharing"
    def command(self): return [sys.executable, "-c", SCRIPT]
    def drive(self): return "answer"
sharing = Sharing(None)
answer, mib = sharing.turn()
assert answer == "answer" and 60 < mib < 120, mib
assert sharing.end() == -15
try:
    sharing.turn()
except server.Failed as failure:
    assert "sharing" in str(failure)
else:
    assert False
assert sharing.stop() == -15
)PY");
  INFO(outcome);
  CHECK(outcome.clean());
}

TEST_CASE("a result of python's tests is which passed, without the times they took") {
  const Outcome outcome = python(R"PY(
from programs import python_result
text = "0:00:01 load avg: 3 [1/2] test_a\n\n== Tests result: FAILURE ==\n\n1 test OK.\n\n" \
       "1 test failed:\n    test_b\n\nTotal duration: 1.2 sec\nTests result: FAILURE\n"
told = python_result(text)
assert "test_b" in told and "FAILURE" in told and "duration" not in told and "load" not in told
assert python_result("Fatal Python error") == ""
)PY");
  INFO(outcome);
  CHECK(outcome.clean());
}
