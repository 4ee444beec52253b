// SPDX-License-Identifier: MIT
// pktmalloc doctor CMD|PID: will the library take effect there, or did it?
// pktmalloc doctor --report [PID]: what a maintainer needs to know.
//
// Exit status 0: all is well. 1: a warning or problem. 2: it could not look.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "preload/contract/pktmalloc.h"
#include "tools/command/doctor/executable.h"
#include "tools/command/doctor/maintainer_report.h"
#include "tools/command/doctor/running.h"
#include "tools/command/doctor/surroundings.h"
#include "tools/command/failure.h"
#include "tools/command/subcommands.h"
#include "tools/command/system/elf_file.h"
#include "tools/command/system/library.h"
#include "tools/command/system/standard_output.h"
#include "tools/command/system/target.h"
#include "tools/command/text/printable.h"

namespace pktmalloc {
namespace {

struct Examination {
  std::string of;           // "redis-server (/usr/bin/redis-server)", "process 77 (redis-server)"
  std::string interpreter;  // of a script, which alone was looked at; "" of a program
  Findings findings;
};

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

bool can_lock_memory(const std::string& program) {
  const ElfFile file(program);
  return file.is_elf() && file.imports("mlockall");
}

Finding library_finding(const Library& library) {
  const std::string objection = library.objection({});
  if (objection.empty()) {
    return {Level::kOk, "library",
            fmt::format("pktmalloc {} loads on this machine, from {}.", PKTMALLOC_VERSION,
                        library.path()),
            ""};
  }
  return {Level::kProblem, "library", fmt::format("The library does not load: {}.", objection),
          "Build or install it for this machine."};
}

bool is_shell(const std::string& interpreter) {
  const std::string name = std::filesystem::path(interpreter).filename();
  return name == "sh" || name == "bash" || name == "dash" || name == "ksh" || name == "zsh";
}

// The program that a script of a shell becomes in the end; "" where that cannot be told. `script`
// becomes the last one on the way there: a shim of pyenv, say, becomes another script.
std::string program_in_the_end(std::string& script) {
  constexpr int kMost = 8;  // more may be a circle
  for (int i = 0; i < kMost; ++i) {
    const std::string command = command_of_exec(script);
    if (command.empty()) return "";
    const Target next = find_target(command);
    if (next.scripts.empty() || !is_shell(next.file)) return next.file;
    script = next.scripts[0];
  }
  return "";
}

// The program to look at: the interpreter, or what a script of a shell becomes, since such scripts
// mostly start other programs, which are what matters.
std::string program_of_script(const Target& target, Examination& e) {
  const std::string& script = target.scripts[0];
  e.interpreter = target.file;
  const auto add = [&e](Level level, const std::string& says, const std::string& advice) {
    e.findings.push_back({level, "script", says, advice});
  };
  if (!is_shell(target.file)) {
    add(Level::kOk,
        fmt::format("{} is a script; {} runs it and is looked at here, not what it starts.", script,
                    target.file),
        "");
    return target.file;
  }
  std::string last = script;
  try {
    const std::string program = program_in_the_end(last);
    if (!program.empty()) {
      add(Level::kOk,
          fmt::format("{} is a script, which becomes {} in the end: that is looked at here.",
                      script, program),
          "");
      e.interpreter.clear();
      return program;
    }
  } catch (const Failure&) {  // a program that is not here
  }
  add(Level::kWarning,
      fmt::format("{} is a script of {}{}. What {} starts cannot be told from here, and may be "
                  "anything.",
                  script, target.file, last == script ? "" : ", which becomes " + last,
                  last == script ? "it" : "that"),
      "Name the program itself, or look by doctor PID once it runs.");
  return target.file;
}

Examination examine_command(const std::string& command) {
  const Target target = find_target(command);
  const Library library = Library::find();
  const Environment environment = own_environment();
  const std::string file = target.file == command ? "" : fmt::format(" ({})", target.file);
  Examination e{command + file, "", {library_finding(library)}};
  const std::string program = target.scripts.empty() ? target.file : program_of_script(target, e);
  append(e.findings, examine_executable(program, program, library, environment));
  append(e.findings,
         examine_surroundings(Process(getpid()), environment, can_lock_memory(program)));
  return e;
}

Process find_process(const std::string& number) {
  const pid_t pid = process_id(number);
  if (pid == 0) throw Failure("there is no process {}", number);
  return Process(pid);
}

Examination examine_process(const std::string& number) {
  const Process process = find_process(number);
  const Environment environment = environment_of(process);
  Examination e{fmt::format("process {} ({})", process.pid(), process.name()), "",
                examine_running(process, environment)};
  append(e.findings,
         examine_surroundings(process, environment, can_lock_memory(process.executable())));
  return e;
}

bool well(const Findings& findings) {
  return std::all_of(findings.begin(), findings.end(),
                     [](const Finding& f) { return f.level == Level::kOk; });
}

// Broken into lines of so many columns, each after the first indented by `indent`.
std::string wrapped(const std::string& text, size_t indent, size_t columns) {
  std::string result;
  size_t column = indent;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const size_t length = end - at;
    if (column > indent && column + 1 + length > columns) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      result += ' ';
      ++column;
    }
    result += text.substr(at, length);
    column += length;
    at = end + 1;
  }
  return result;
}

const char* colour(Level level) {
  if (!output_has_colours()) return "";
  return level == Level::kOk ? "\033[32m" : level == Level::kWarning ? "\033[33m" : "\033[31m";
}

void print_finding(const Finding& f, size_t columns) {
  constexpr size_t kFewest = 60;  // for two columns of text beside each other
  const bool narrow = columns < kFewest;
  const size_t indent = narrow ? 2 : 24;
  const std::string margin(indent, ' ');
  const char* const start = colour(f.level);
  fmt::print("{}{:<9}{}{:<15}", start, name_of(f.level), *start != '\0' ? "\033[0m" : "", f.topic);
  if (narrow) fmt::print("\n{}", margin);
  fmt::print("{}\n", wrapped(printable(f.says), indent, columns));
  if (!f.advice.empty()) fmt::print("{}{}\n", margin, wrapped("-> " + f.advice, indent, columns));
}

void print_text(const Examination& e) {
  const size_t columns = std::min<size_t>(output_columns(), 80);
  fmt::print("{}\n", printable(e.of));
  for (const Finding& f : e.findings) print_finding(f, columns);
  const auto count = [&e](Level level) {
    return std::count_if(e.findings.begin(), e.findings.end(),
                         [level](const Finding& f) { return f.level == level; });
  };
  if (well(e.findings)) {
    fmt::print("All is well.\n");
  } else {
    fmt::print("Problems: {}, warnings: {}.\n", count(Level::kProblem), count(Level::kWarning));
  }
  if (e.interpreter.empty()) return;
  fmt::print("That is of the interpreter {} alone;\n{}\n", printable(e.interpreter),
             wrapped("look again with doctor PID once it runs.", 0, columns));
}

void print_json(const Examination& e) {
  nlohmann::ordered_json findings = nlohmann::ordered_json::array();
  for (const Finding& f : e.findings) {
    findings.push_back(
        {{"level", name_of(f.level)}, {"topic", f.topic}, {"says", f.says}, {"advice", f.advice}});
  }
  const nlohmann::ordered_json all = {
      {"of", e.of}, {"well", well(e.findings)}, {"findings", findings}};
  fmt::print("{}\n", all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void print_report(const std::string& what) {
  if (what.empty())
    return fmt::print("{}", maintainer_report(Process(getpid()), own_environment()));
  if (!is_number(what)) throw Failure("doctor --report takes a process id, not {}", what);
  const Process process = find_process(what);
  fmt::print("{}", maintainer_report(process, environment_of(process)));
}

}  // namespace

void add_doctor(CommandLine& command) {
  const Subcommand doctor =
      command.add_subcommand("doctor", "Will the library take effect there, or did it?");
  static std::string what;
  static bool json = false, report = false;
  doctor.add_option("CMD|PID", what, "a command, or the process id of a running one");
  doctor.add_flag("--json", json, "as JSON");
  doctor
      .add_flag("--report", report,
                "what to send with a report of a fault, of PID if given; nothing private")
      .excludes("--json");
  doctor.footer(
      "Exit status: 0 all is well, 1 a warning or problem, 2 it could not look.\n"
      "Example: pktmalloc doctor redis-server; pktmalloc doctor $(pidof redis-server)");
  doctor.callback([] {
    if (report) return print_report(what);
    if (what.empty()) throw Failure("doctor needs a command or a process id");
    const Examination e = is_number(what) ? examine_process(what) : examine_command(what);
    json ? print_json(e) : print_text(e);
    if (!well(e.findings)) throw ExitStatus{1};
  });
}

}  // namespace pktmalloc
