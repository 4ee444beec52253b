// SPDX-License-Identifier: MIT
// pktmalloc exporter: what all processes of this machine that have the library say, over HTTP.
#include <unistd.h>

#include <chrono>
#include <mutex>

#include "tools/command/exporter/fleet.h"
#include "tools/command/exporter/http_server.h"
#include "tools/command/exporter/live_profile.h"
#include "tools/command/failure.h"
#include "tools/command/live/process_table.h"
#include "tools/command/number_range.h"
#include "tools/command/subcommands.h"
#include "tools/command/system/standard_output.h"

namespace pktmalloc {
namespace {

struct Options {
  std::string address = "127.0.0.1:9464";
  FleetLimits limits;
  bool no_profiles = false;
  bool once = false;
};

constexpr const char* kEndpoints = "/metrics, /debug/pprof/heap?pid=PID";
constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

// Metrics of a moment ago: however many scrape, the processes are read once a second.
class Metrics {
 public:
  explicit Metrics(const FleetLimits& limits) : limits_(limits) {}

  std::string text() {
    const std::scoped_lock lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (text_.empty() || now - read_ > std::chrono::seconds(1)) {
      text_ = fleet_metrics(limits_);
      read_ = std::chrono::steady_clock::now();
    }
    return text_;
  }

 private:
  const FleetLimits limits_;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point read_;
  std::string text_;
};

HttpAnswer refused(int status, const std::string& why) {
  HttpAnswer answer;
  answer.status = status;
  answer.body = why + "\n";
  return answer;
}

HttpAnswer profile(const HttpRequest& request) {
  const auto pid = request.query.find("pid");
  const pid_t process = pid == request.query.end() ? 0 : process_id(pid->second);
  if (process == 0) return refused(400, "?pid= must tell a process id");
  try {
    return {200, "application/octet-stream", live_profile(process)};
  } catch (const Failure& failure) {
    return refused(404, failure.what());
  }
}

std::string front_page() {
  std::string text = fmt::format("pktmalloc exporter: {}\n\n{}\n", kEndpoints, kProcessTableHead);
  for (const ProcessRow& row : process_table().rows) text += row.text() + "\n";
  return text;
}

void run(const Options& options) {
  Metrics metrics(options.limits);
  if (options.once) {
    fmt::print("{}", metrics.text());
    return;
  }
  HttpServer server(options.address, [&](const HttpRequest& request) -> HttpAnswer {
    if (request.path == "/metrics") return {200, kMetricsType, metrics.text()};
    if (request.path == "/") return {200, HttpAnswer().type, front_page()};
    if (request.path != "/debug/pprof/heap") {
      return refused(404, fmt::format("there is no {}; there are {}", request.path, kEndpoints));
    }
    if (options.no_profiles) return refused(403, "the exporter was started with --no-profiles");
    return profile(request);
  });
  fmt::print("listening at http://{}/metrics\n", server.address());
  flush_standard_output();
  server.serve();
}

}  // namespace

void add_exporter(CLI::App& command) {
  CLI::App* const exporter = command.add_subcommand(
      "exporter",
      "Statistics of all processes over HTTP, for Prometheus; heap profiles for pprof.");
  static Options options;
  exporter->add_option("--listen", options.address, "where; port 0 is any that is free")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  exporter->add_option("--processes", options.limits.processes, "tell so many, the largest")
      ->check(NumberRange(1U, 10000U))
      ->type_name("N")
      ->capture_default_str();
  exporter->add_option("--classes", options.limits.classes, "tell so many of each, the largest")
      ->check(NumberRange(0U, 63U))
      ->type_name("N")
      ->capture_default_str();
  exporter->add_flag("--no-profiles", options.no_profiles, "answer /metrics alone");
  exporter->add_flag("--once", options.once, "print the metrics and end");
  exporter->footer(
      "The processes need no preparation; heap profiles need --control and --profile. Example:\n"
      "  pktmalloc exporter &\n"
      "  curl http://127.0.0.1:9464/metrics\n"
      "  pprof -http : http://127.0.0.1:9464/debug/pprof/heap?pid=1234");
  exporter->callback([] { run(options); });
}

}  // namespace pktmalloc
