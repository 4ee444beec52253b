// SPDX-License-Identifier: MIT
// CommandLine: the arguments of the pktmalloc command, told by what they can be. A subcommand has
// options and positional arguments ("FILE"), each written into a variable that lives as long as the
// command line, and a callback that is called once all of them are read. Help and refusals of what
// was not understood come from here.
//
// CLI11 does the work, in command_line.cpp alone: each source that includes it takes five seconds
// more to compile. An Option and a Subcommand are names for what the command line holds: copy them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace pktmalloc {

// Thrown by a callback that wants another exit status than 0 and has told why.
struct ExitStatus {
  int status;
};

class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required() const;
  Option type_name(const std::string& shown) const;  // in the help, instead of TEXT or INT
  Option show_default() const;                       // in the help: what the variable holds now
  Option value_is_optional() const;                  // --stats and --stats=FILE
  Option delimiter(char between_values) const;
  Option one_of(const std::vector<std::string>& values) const;
  // For int, unsigned and double.
  template <typename Number>
  Option range(Number least, Number most) const;
  // Other options, which stand before this one.
  Option needs(const std::string& other) const;
  Option excludes(const std::string& other) const;

  bool is_given() const;

 private:
  CLI::Option* option_;
};

class Subcommand {
 public:
  explicit Subcommand(CLI::App* app) : app_(app) {}

  // `names` are "-n,--runs", or "FILE" of a positional argument. For std::string, a vector of them,
  // int, unsigned, size_t and double.
  template <typename Value>
  Option add_option(const std::string& names, Value& value, const std::string& help) const;
  Option add_option(const std::string& names, std::function<void(const std::string&)> take,
                    const std::string& help) const;
  Option add_flag(const std::string& names, bool& flag, const std::string& help) const;
  void accept_flag(const std::string& name) const;  // as if not said; the help is silent on it
  void footer(const std::string& text) const;
  void callback(std::function<void()> call) const;
  void hide() const;  // from the help of the command

  std::string name() const;
  bool takes_value(const std::string& option) const;  // as its next argument

 private:
  CLI::App* app_;
};

class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& description);
  ~CommandLine();

  void version(const std::string& text);
  void footer(const std::string& text);
  Subcommand add_subcommand(const std::string& name, const std::string& description);
  Subcommand subcommand(const std::string& name) const;

  // Calls the callback of the subcommand that the arguments choose, or prints help, or refuses them
  // with one line on stderr. Its exit status.
  int execute(std::vector<std::string> arguments);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace pktmalloc
