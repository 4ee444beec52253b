// SPDX-License-Identifier: MIT
// ClassCharts: the figures of a report's page that have a bar, a line or a picture for each class.
// Those with the most of what is shown; the page's table has all.
#pragma once

#include "tools/command/page/page.h"
#include "tools/command/report/series.h"

namespace pktmalloc {

// `before` is an earlier reading, or null.
void draw_live_bytes(Page& page, const Snapshot& now, const Snapshot* before);
void draw_slack(Page& page, const Snapshot& now);
void draw_exchange(Page& page, const Snapshot& now);

// Over time; of moments that follow each other, two at least.
void draw_live_bytes(Page& page, const Series& moments);
void draw_exchange(Page& page, const Series& moments);

}  // namespace pktmalloc
