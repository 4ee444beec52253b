// SPDX-License-Identifier: MIT
// Libraries: the headers that many sources of the command include, compiled once for all of them
// (command.mk). Each source still names what it uses: it compiles without this, too.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>
