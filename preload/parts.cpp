// SPDX-License-Identifier: MIT
// The table of parts, in the order of the ranks of their locks (process/part.h).
#include <iterator>

#include "preload/checked/checks_part.h"
#include "preload/exports/reserve.h"
#include "preload/guard/sample_guard.h"
#include "preload/hardened/hardening_part.h"
#include "preload/observers/size_recording.h"
#include "preload/observers/trace.h"
#include "preload/process/background.h"
#include "preload/process/mapped_blocks.h"
#include "preload/process/next_allocator.h"
#include "preload/process/part.h"
#include "preload/process/recording.h"
#include "preload/process/threads.h"
#include "preload/profile/profile.h"
#include "preload/profile/sampler.h"
#include "preload/reports/open_window.h"
#include "preload/reports/report.h"
#include "preload/reports/report_thread.h"
#include "preload/serving/inline_path.h"
#include "preload/serving/slow_path.h"

namespace pktmalloc {

const Part* const parts[] = {
    &slow_path_part,  // the last to be unlocked: it frees
    &inline_path_part,
    &recording_part,  // at load before all that is recorded, at exit behind it
    &report_part,     // at exit behind all that it reports
    &reserve_part,    // at load behind what tells of it
    &next_allocator_part, &mapped_blocks::part, &window_part,  &background_part,
    &report_thread_part,  &threads_part,        &profile_part, &sample_guard_part,
    &sampler_part,        &size_recording_part,
#if PKTMALLOC_CHECKED
    &checks_part,
#endif
    &trace_part,
#if PKTMALLOC_HARDENED
    &hardening_part,
#endif
};
const unsigned part_count = static_cast<unsigned>(std::size(parts));

}  // namespace pktmalloc
