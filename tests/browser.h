// SPDX-License-Identifier: MIT
// A page as a browser shows it. Needs Chromium.
#pragma once

#include <string>

#include "tests/program.h"
#include "tests/temporary_folder.h"

// The document of a file in the folder after its scripts have run. They may read other files.
inline Outcome browsed(const TemporaryFolder& folder, const std::string& file) {
  return Program({"chromium", "--headless", "--no-sandbox", "--disable-gpu",
                  "--allow-file-access-from-files", "--user-data-dir=" + folder / "browser",
                  "--virtual-time-budget=5000", "--dump-dom", "file://" + folder / file})
      .run();
}
