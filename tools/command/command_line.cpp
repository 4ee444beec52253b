// SPDX-License-Identifier: MIT
#include "tools/command/command_line.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <utility>

#include "tools/command/text/nearest.h"
#include "tools/command/text/printable.h"

namespace pktmalloc {
namespace {

std::string names(const std::vector<const CLI::App*>& subcommands) {
  std::string all;
  for (const CLI::App* s : subcommands) all += (all.empty() ? "" : ", ") + s->get_name();
  return all;
}

std::string names(const std::vector<const CLI::Option*>& options) {
  std::string all;
  for (const CLI::Option* o : options) {
    if (!o->get_positional()) all += (all.empty() ? "" : ", ") + o->get_name();
  }
  return all;
}

std::vector<std::string> long_names(const CLI::App& app) {
  std::vector<std::string> all;
  for (const CLI::Option* o : app.get_options()) {
    for (const std::string& name : o->get_lnames()) all.push_back("--" + name);
  }
  return all;
}

// What is wrong with the arguments of a subcommand that knows all of them.
std::string fault(const CLI::App& app, const CLI::Error& error, const std::string& last) {
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
    for (const CLI::Option* o : app.get_options()) {
      const bool is_flag = o->get_expected_max() == 0;
      if (is_flag && o->count() > 0 && o->results()[0] != "true") {
        return fmt::format("{} takes no value", o->get_name());
      }
    }
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr) return error.what();
  for (const CLI::Option* o : app.get_options()) {
    if (o->get_items_expected_max() == 1 && o->count() > 1) {
      return fmt::format("{} is given {} times", o->get_name(), o->count());
    }
  }
  return last + " lacks its value";
}

// One line: what was not understood, and what would have been. `last` is the last argument.
std::string explanation(const CLI::App& command, const CLI::Error& error, const std::string& last) {
  const auto is_any = [](const CLI::App* s) { return !s->get_group().empty(); };  // not hidden
  const auto is_chosen = [](const CLI::App* s) { return s->count() > 0; };
  const auto chosen = command.get_subcommands(is_chosen);
  const std::vector<std::string> unknown = command.remaining();
  if (chosen.empty() || !unknown.empty()) {
    const std::string all = names(command.get_subcommands(is_any));
    if (unknown.empty()) return fmt::format("a subcommand is missing: {}", all);
    return fmt::format("there is no {} {}; the {}", unknown[0][0] == '-' ? "option" : "subcommand",
                       unknown[0],
                       unknown[0][0] == '-' ? "options are " + names(command.get_options())
                                            : "subcommands are " + all);
  }
  const CLI::App& app = *chosen.front();
  const std::vector<std::string> unexpected = app.remaining();
  if (unexpected.empty()) return fmt::format("{}: {}", app.get_name(), fault(app, error, last));
  if (unexpected[0][0] != '-') {
    return fmt::format("{}: {} is one argument too many", app.get_name(), unexpected[0]);
  }
  const std::string near =
      nearest(unexpected[0].substr(0, unexpected[0].find('=')), long_names(app));
  return fmt::format("{} has no option {}; {}pktmalloc {} --help tells all", app.get_name(),
                     unexpected[0], near.empty() ? "" : fmt::format("did you mean {}? ", near),
                     app.get_name());
}

}  // namespace

Option Option::required() const { return Option(option_->required()); }

Option Option::type_name(const std::string& shown) const {
  return Option(option_->type_name(shown));
}

Option Option::show_default() const { return Option(option_->capture_default_str()); }

Option Option::value_is_optional() const { return Option(option_->expected(0, 1)); }

Option Option::delimiter(char between_values) const {
  return Option(option_->delimiter(between_values));
}

Option Option::one_of(const std::vector<std::string>& values) const {
  return Option(option_->check(CLI::IsMember(values)));
}

// CLI::Range tells 0.1 as 0.100000, and of what is no number that it is out of range.
template <typename Number>
Option Option::range(Number least, Number most) const {
  const CLI::Range range(least, most);
  const auto refusal = [=](const std::string& text) {
    const bool is_number = !std::isnan(strtod(text.c_str(), nullptr));
    return is_number && range(text).empty()
               ? std::string()
               : fmt::format("{} is not a number from {} to {}", text, least, most);
  };
  return Option(option_->check(refusal, range.get_description()));
}
template Option Option::range(int, int) const;
template Option Option::range(unsigned, unsigned) const;
template Option Option::range(double, double) const;

Option Option::needs(const std::string& other) const { return Option(option_->needs(other)); }

Option Option::excludes(const std::string& other) const { return Option(option_->excludes(other)); }

bool Option::is_given() const { return option_->count() > 0; }

template <typename Value>
Option Subcommand::add_option(const std::string& names, Value& value,
                              const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}
using Texts = std::vector<std::string>;
template Option Subcommand::add_option(const std::string&, std::string&, const std::string&) const;
template Option Subcommand::add_option(const std::string&, Texts&, const std::string&) const;
template Option Subcommand::add_option(const std::string&, int&, const std::string&) const;
template Option Subcommand::add_option(const std::string&, unsigned&, const std::string&) const;
template Option Subcommand::add_option(const std::string&, size_t&, const std::string&) const;
template Option Subcommand::add_option(const std::string&, double&, const std::string&) const;

Option Subcommand::add_option(const std::string& names,
                              std::function<void(const std::string&)> take,
                              const std::string& help) const {
  return Option(app_->add_option_function<std::string>(names, take, help));
}

Option Subcommand::add_flag(const std::string& names, bool& flag, const std::string& help) const {
  return Option(app_->add_flag(names, flag, help));
}

void Subcommand::accept_flag(const std::string& name) const { app_->add_flag(name)->group(""); }

void Subcommand::footer(const std::string& text) const { app_->footer(text); }

void Subcommand::callback(std::function<void()> call) const { app_->callback(std::move(call)); }

void Subcommand::hide() const { app_->group(""); }

std::string Subcommand::name() const { return app_->get_name(); }

bool Subcommand::takes_value(const std::string& option) const {
  const CLI::Option* const found = app_->get_option_no_throw(option);
  return found != nullptr && found->get_items_expected_min() > 0;
}

CommandLine::CommandLine(const std::string& name, const std::string& description)
    : app_(std::make_unique<CLI::App>(description)) {
  app_->name(name);
  app_->require_subcommand(1);
}

CommandLine::~CommandLine() = default;

void CommandLine::version(const std::string& text) { app_->set_version_flag("--version", text); }

void CommandLine::footer(const std::string& text) { app_->footer(text); }

Subcommand CommandLine::add_subcommand(const std::string& name, const std::string& description) {
  return Subcommand(app_->add_subcommand(name, description));
}

Subcommand CommandLine::subcommand(const std::string& name) const {
  return Subcommand(app_->get_subcommand(name));
}

int CommandLine::execute(std::vector<std::string> arguments) {
  const std::string last = arguments.empty() ? "" : arguments.back();
  app_->failure_message([&last](const CLI::App* app, const CLI::Error& error) {
    return fmt::format("{}: {}\n", app->get_name(), printable(explanation(*app, error, last)));
  });
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
  try {
    app_->parse(std::move(arguments));
  } catch (const ExitStatus& ended) {
    return ended.status;
  } catch (const CLI::ParseError& error) {
    std::ostringstream help;  // std::cout would not tell why it is lost
    const bool is_help = app_->exit(error, help, std::cerr) == 0;
    fmt::print("{}", help.str());
    return is_help ? 0 : 2;
  }
  return 0;
}

}  // namespace pktmalloc
