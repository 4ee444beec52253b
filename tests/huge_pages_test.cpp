// SPDX-License-Identifier: MIT
// PKTMALLOC_HUGEPAGES, and PKTMALLOC_RESERVE from the system's pool of huge pages.
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/program.h"
#include "tests/refused.h"
#include "tests/skip.h"

namespace {

std::string line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// always, madvise or never; empty: the kernel has none, or does not tell.
std::string mode() {
  const std::string modes = line_of("/sys/kernel/mm/transparent_hugepage/enabled");
  const size_t open = modes.find('[');
  return open == std::string::npos ? "" : modes.substr(open + 1, modes.find(']') - open - 1);
}

struct Told {
  long transparent = -1, pool = -1, left = -1;  // MiB
};

Told told(const Outcome& outcome) {
  INFO(outcome);
  REQUIRE(outcome.status == 0);
  Told all;
  std::istringstream(outcome.out) >> all.transparent >> all.pool >> all.left;
  REQUIRE(all.left >= 0);
  return all;
}

Outcome with_packets(const char* count, const char* variable, const std::string& value) {
  return Program({program_path("tells_huge_pages"), count}).preloaded().with(variable, value).run();
}

Told packets(const char* count, const char* huge_pages) {
  const Outcome outcome = with_packets(count, "PKTMALLOC_HUGEPAGES", huge_pages);
  CHECK(outcome.err.empty());
  return told(outcome);
}

// The system's pool has so many pages more while this lives, if it may be asked.
class Pool {
 public:
  explicit Pool(long pages) : before_(line_of(kPath)) {
    if (before_.empty()) return;
    std::ofstream(kPath) << std::stol(before_) + pages;
    std::istringstream(line_of(kPath)) >> now_;
  }
  ~Pool() {
    if (!before_.empty()) std::ofstream(kPath) << before_;
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  bool has(long pages) const { return now_ >= pages; }

 private:
  static constexpr char kPath[] = "/proc/sys/vm/nr_hugepages";
  std::string before_;
  long now_ = 0;
};

}  // namespace

TEST_CASE("classes that have grown lie in huge pages if they are asked for") {
  if (mode().empty() || mode() == "never") skip("there are no transparent huge pages here");
  const Told many = packets("60000", "madvise");  // 86 MiB
  if (many.transparent == 0) skip("the system gives no huge pages to who asks");
  CHECK(many.transparent >= 32);
  CHECK(many.left < 16);
}

TEST_CASE("small classes have none, even if they are asked for") {
  if (mode() == "always") skip("the system gives them unasked");
  CHECK(packets("2000", "madvise").transparent == 0);
}

TEST_CASE("never means never") {
  CHECK(packets("60000", "never").transparent == 0);
  if (mode() != "always") CHECK(packets("60000", "auto").transparent == 0);
}

TEST_CASE("a reservation lies in the system's huge pages") {
  const Pool pool(64);
  if (!pool.has(64)) skip("no huge pages can be set aside here");
  const Outcome outcome = with_packets("30000", "PKTMALLOC_RESERVE", "1500:60000,huge");
  CHECK(outcome.err.empty());
  CHECK(told(outcome).pool >= 80);
}

TEST_CASE("where the system's pool is too small one line says so, and small pages serve") {
  const Outcome outcome = with_packets("30000", "PKTMALLOC_RESERVE", "1500:99000,huge");
  INFO(outcome);
  if (told(outcome).pool >= 130) skip("this system has huge pages for all");
  CHECK(has(outcome.err, "PKTMALLOC_RESERVE: the system's huge pages serve "));
  CHECK(has(outcome.err, " and small pages the rest (/proc/sys/vm/nr_hugepages)\n"));
  CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
}
