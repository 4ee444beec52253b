// SPDX-License-Identifier: MIT
// Diagnosis: what `pktmalloc doctor` says of something, and small programs to show it.
#pragma once

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <ostream>
#include <string>

#include "tests/program.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"

using Json = nlohmann::json;

// Another user, without privileges.
inline const std::string kNobody = "setpriv --reuid=65534 --clear-groups ";

inline Program doctor(const std::string& what) {
  return Program({build_path("pktmalloc"), "doctor", "--json", what});
}

struct Diagnosis {
  Outcome outcome;
  Json json;

  explicit Diagnosis(const Program& program) : outcome(program.run()) {
    json = Json::parse(outcome.out, nullptr, false);
  }
  // The worst that is found of a topic, such as "problem"; "" when it is not among the findings.
  std::string level(const std::string& topic) const {
    for (const std::string level : {"problem", "warning", "ok"}) {
      for (const Json& f : json.value("findings", Json::array())) {
        if (f["topic"] == topic && f["level"] == level) return level;
      }
    }
    return "";
  }
  bool says(const std::string& text) const { return outcome.out.find(text) != std::string::npos; }
  // Exit status and the word in the file agree with the findings; whatever is wrong has advice.
  bool consistent() const {
    if (!json.is_object()) return false;
    bool well = true;
    for (const Json& f : json["findings"]) {
      well &= f["level"] == "ok";
      if (f["says"].get<std::string>().back() != '.') return false;
      if (f["level"] != "ok" && f["advice"] == "") return false;
    }
    return json["well"] == well && outcome.status == (well ? 0 : 1) && outcome.err.empty();
  }
};

inline std::ostream& operator<<(std::ostream& stream, const Diagnosis& diagnosis) {
  return stream << diagnosis.outcome;
}

// A program that tells that it has started, after an allocation, and waits.
inline constexpr const char* kWaiting =
    "#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
    "int main(void) { free(malloc(100)); puts(\"ready\"); fflush(stdout); pause(); }\n";

// From a text in C, by gcc; false, and told, where that cannot be.
inline bool compile(const TemporaryFolder& folder, const std::string& source,
                    const std::string& options, const std::string& name) {
  folder.write(name + ".c", source);
  const Outcome built = Program({"sh", "-c",
                                 "gcc -fno-builtin -w " + (folder / (name + ".c")) + " -o " +
                                     (folder / name) + " " + options})
                            .run();
  if (built.status != 0) leave_out(name + " cannot be built here: " + built.err);
  return built.status == 0;
}
