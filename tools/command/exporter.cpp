// SPDX-License-Identifier: MIT
// pktmalloc exporter: what all processes of this machine that have the library say, over HTTP.
#include <sys/resource.h>

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>

#include "tools/command/exporter/confined.h"
#include "tools/command/exporter/fleet.h"
#include "tools/command/exporter/http_server.h"
#include "tools/command/exporter/live_profile.h"
#include "tools/command/failure.h"
#include "tools/command/heap/inventory.h"
#include "tools/command/live/process_table.h"
#include "tools/command/subcommands.h"
#include "tools/command/system/process.h"
#include "tools/command/system/standard_output.h"

namespace pktmalloc {
namespace {

struct Options {
  std::string address = "127.0.0.1:9464";
  FleetLimits limits;
  bool no_profiles = false;
  bool objects = false;
  bool once = false;
  std::optional<std::string> profiled, looked_at;
};

constexpr const char* kEndpoints = "/metrics, /debug/pprof/heap?pid=PID, /objects?pid=PID";
// A tenth of the time is spent on looks at objects.
constexpr unsigned kRestAfterObjects = 9;
constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

using Clock = std::chrono::steady_clock;

// Text of a moment ago: however many ask, the processes are read once a second for each kind, by
// one thread at a time.
class Recent {
 public:
  Recent(std::mutex& mutex, std::function<std::string()> read)
      : mutex_(mutex), read_(std::move(read)) {}

  std::string text() {
    const std::scoped_lock lock(mutex_);
    const auto now = Clock::now();
    if (text_.empty() || now - time_ > std::chrono::seconds(1)) {
      text_ = read_();
      time_ = Clock::now();
    }
    return text_;
  }

 private:
  std::mutex& mutex_;
  const std::function<std::string()> read_;
  Clock::time_point time_;
  std::string text_;
};

// What one process is asked for, by one client at a time.
struct Question {
  const char* option;  // of a confined process
  const char* type;    // of the answer
  unsigned rest;       // so many times as long as an answer took nobody asks again
  std::mutex one_at_a_time = {};
  Clock::time_point next = {};
};

HttpAnswer answer_to(Question& question, const HttpRequest& request) {
  const auto pid = request.query.find("pid");
  const pid_t process = pid == request.query.end() ? 0 : process_id(pid->second);
  if (process == 0) return {400, "?pid= must tell a process id\n"};
  const std::unique_lock lock(question.one_at_a_time, std::try_to_lock);
  if (!lock) return {503, "another process is being asked for it\n"};
  const auto begin = Clock::now();
  if (begin < question.next) return {503, "too soon after the last one\n"};
  const ConfinedAnswer answer = ask_confined(question.option, process);
  const auto end = Clock::now();
  question.next = end + (end - begin) * question.rest;
  if (!answer.done) return {404, answer.text};
  return {200, answer.text, question.type};
}

// Who may not trace the process with its own rights sees it as it runs.
Inventory look_at_objects(const Subject& subject) {
  constexpr double kPauseMs = 5;
  try {
    return Inventory(subject, kPauseMs, false);
  } catch (const Failure&) {
    return Inventory(subject, 0, false);
  }
}

// As root with the rights of the process.
void print_live_objects(pid_t pid) {
  const Subject subject(std::to_string(pid), [=] { take_rights_of(Process(pid).user()); });
  Inventory seen = look_at_objects(subject);
  seen.name_places(subject.image(), false);
  fmt::print("{}", seen.json_text(subject, {}));
}

std::string front_page() {
  return fmt::format("pktmalloc exporter: {}\n\n{}", kEndpoints, process_table().text());
}

// Each client and each process that is read takes a descriptor.
void have_many_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void serve(const Options& options) {
  have_many_descriptors();
  std::mutex reading;
  Recent metrics(reading, [&] { return fleet_metrics(options.limits); });
  Recent processes(reading, front_page);
  Question profile{"--profile-of", "application/octet-stream", 0};
  Question objects{"--objects-of", "application/json", kRestAfterObjects};
  HttpServer server(options.address, [&](const HttpRequest& request) -> HttpAnswer {
    if (request.path == "/metrics") return {200, metrics.text(), kMetricsType};
    if (request.path == "/") return {200, processes.text()};
    if (request.path == "/debug/pprof/heap") {
      if (options.no_profiles) return {403, "the exporter was started with --no-profiles\n"};
      return answer_to(profile, request);
    }
    if (request.path == "/objects") {
      if (!options.objects) return {403, "the exporter was started without --objects\n"};
      return answer_to(objects, request);
    }
    return {404, fmt::format("there is no {}; there are {}\n", request.path, kEndpoints)};
  });
  fmt::print("listening at http://{}/metrics\n", server.address());
  flush_standard_output();
  server.serve();
}

pid_t process_of(const char* option, const std::string& text) {
  const pid_t pid = process_id(text);
  if (pid == 0) throw Failure("{} {}: that is no process id", option, text);
  return pid;
}

void run(const Options& options) {
  if (options.once) {
    fmt::print("{}", fleet_metrics(options.limits));
  } else if (options.profiled) {
    print_live_profile(process_of("--profile-of", *options.profiled));
  } else if (options.looked_at) {
    print_live_objects(process_of("--objects-of", *options.looked_at));
  } else {
    serve(options);
  }
}

}  // namespace

void add_exporter(CommandLine& command) {
  const Subcommand exporter = command.add_subcommand(
      "exporter",
      "Statistics of all processes over HTTP, for Prometheus; heap profiles for pprof.");
  static Options options;
  exporter.add_option("--listen", options.address, "where; port 0 is any that is free")
      .type_name("HOST:PORT")
      .show_default();
  exporter.add_option("--processes", options.limits.processes, "tell so many, the largest")
      .range(1U, 10000U)
      .type_name("N")
      .show_default();
  exporter.add_option("--classes", options.limits.classes, "tell so many of each, the largest")
      .range(0U, 63U)
      .type_name("N")
      .show_default();
  exporter.add_flag("--no-profiles", options.no_profiles, "tell no heap profiles");
  exporter.add_flag("--objects", options.objects,
                    "tell live objects by type, too, as `objects` does");
  exporter.add_flag("--once", options.once, "print the metrics and end");
  exporter
      .add_option(
          "--profile-of", [](const std::string& pid) { options.profiled = pid; },
          "print this heap profile, for pprof, and end")
      .type_name("PID")
      .excludes("--once");
  exporter
      .add_option(
          "--objects-of", [](const std::string& pid) { options.looked_at = pid; },
          "print these live objects, and end")
      .type_name("PID")
      .excludes("--once")
      .excludes("--profile-of");
  exporter.footer(
      "The processes need no preparation; heap profiles need --control and --profile. Example:\n"
      "  pktmalloc exporter &\n"
      "  curl http://127.0.0.1:9464/metrics\n"
      "  pprof -http : http://127.0.0.1:9464/debug/pprof/heap?pid=1234");
  exporter.callback([] { run(options); });
}

}  // namespace pktmalloc
