#include "tests/swarm/reports.h"

namespace gearshift::swarm {
namespace {

// A second until a reading is stale, a tick, and room.
constexpr Duration kPatience = std::chrono::seconds(3);

}  // namespace

void ReportWatch::note(const Note& note) {
  if (note.type == NoteType::power_unknown) unknown_noted_ = note.time;
  if (note.type == NoteType::detached) detached_noted_ = note.time;
}

std::optional<std::string> ReportWatch::step(const Status& status) {
  const Time now = status.time;
  if (status.power_known) known_ = now;
  const bool blind = active_fault(plan_, FaultKind::reading_missing, now) != nullptr ||
                     active_fault(plan_, FaultKind::reading_absurd, now) != nullptr;
  // One that still answers what it was asked before it vanished is not back yet.
  const bool vanishes = active_fault(plan_, FaultKind::trainer_vanishes, now) != nullptr;
  const bool gone = vanishes && (gone_.since || attached_);
  attached_ = status.workloads > 0;
  auto unread = judge(blind_, blind, unknown_noted_ > known_, now,
                      "power cannot be read, and nobody is told");
  if (unread) return unread;
  return judge(gone_, gone, gone_.since && detached_noted_ >= *gone_.since, now,
               "a workload has vanished, and nobody is told");
}

std::optional<std::string> ReportWatch::judge(Span& span, bool active, bool told, Time now,
                                              const char* complaint) {
  if (!active) {
    span = {};
    return std::nullopt;
  }
  if (!span.since) span.since = now;
  if (told && !span.told) {
    span.told = true;
    ++told_;
  }
  if (now - *span.since < kPatience || span.judged) return std::nullopt;
  span.judged = true;
  if (span.told) return std::nullopt;
  return complaint;
}

}  // namespace gearshift::swarm
