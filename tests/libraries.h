// SPDX-License-Identifier: MIT
// Libraries: the headers that many tests include, compiled once for all of them (tests.mk). Each
// test still names what it uses: it compiles without this, too.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <vector>
