// SPDX-License-Identifier: MIT
#include "tools/command/system/become.h"

#include <unistd.h>

namespace pktmalloc {

void become(const std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
}

}  // namespace pktmalloc
