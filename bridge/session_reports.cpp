// What Sessions does with what an attached workload says: checks its values and makes events of it.
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

#include "bridge/sessions.h"

namespace gearshift {
namespace {

// After which it is no last, smaller minibatch of an epoch, and the client is told that it will not
// be measured.
constexpr int kUnofferedInARow = 10;

wire::Error invalid(std::string_view message) {
  return {wire::Text("invalid"), wire::MessageText(message)};
}

// Of samples that training was offered, or of requests that would not wait for more.
bool counts(const Workload& workload, std::int32_t batch_size) {
  const auto* begin = workload.batch_sizes.data();
  if (workload.kind == Kind::infer && workload.batch_size_count > 0) {
    return batch_size <= begin[workload.batch_size_count - 1];
  }
  return std::binary_search(begin, begin + workload.batch_size_count, batch_size);
}

}  // namespace

void Sessions::take(Session& session, const wire::Report& report, Time now, EventBuffer& events) {
  if (report.sequence <= session.last_sequence || report.set > session.last_set.set) {
    ++counters_.dropped;
    answer(session,
           report.set > session.last_set.set ? invalid("set is larger than the last command's")
                                             : invalid("sequence is not larger than the last one"),
           now);
    return;
  }
  session.last_sequence = report.sequence;
  if (!counts(session.workload, report.batch_size)) {
    ++counters_.dropped;
    if (++session.unoffered == kUnofferedInARow) {
      answer(session,
             invalid("batch_size is none of the hello's, ten times in a row: nothing is measured"),
             now);
    }
    return;
  }
  session.unoffered = 0;
  ++counters_.reports;
  Event& event = events.emplace_back();
  event.type = EventType::minibatch;
  event.handle = session.workload.handle;
  event.minibatch = {session.workload.handle,
                     session.workload.kind,
                     report.batch_size,
                     report.set,
                     report.epoch,
                     report.sequence,
                     report.elapsed,
                     report.fetch_stall,
                     report.compute,
                     now};
  session.awaited = now;
  session.times.add(event.minibatch);
  give_way(session.workload.handle, now, events);
}

void Sessions::take(Session& session, const wire::Requests& requests, Time now,
                    EventBuffer& events) {
  std::string_view wrong;
  if (session.workload.kind != Kind::infer) wrong = "requests are of workloads of kind infer";
  if (requests.sequence <= session.last_requests)
    wrong = "sequence is not larger than the last one";
  if (requests.set > session.last_set.set) wrong = "set is larger than the last command's";
  if (!wrong.empty() || !session.requests.take(now)) {
    ++counters_.dropped;
    if (!wrong.empty()) answer(session, invalid(wrong), now);
    return;
  }
  session.last_requests = requests.sequence;
  session.awaited = now;
  ++counters_.reports;
  Event& event = events.emplace_back();
  event.type = EventType::requests;
  event.handle = session.workload.handle;
  event.requests = {session.workload.handle,
                    requests.sequence,
                    requests.set,
                    requests.span,
                    requests.arrived,
                    requests.served,
                    requests.late,
                    requests.refused,
                    requests.queued,
                    requests.latency_p50,
                    requests.latency_p95,
                    requests.latency_p99,
                    requests.latency_max,
                    now};
}

void Sessions::take(Session& session, const wire::Applied& applied, Time now, EventBuffer& events) {
  if (applied.set > session.last_set.set) {
    answer(session, invalid("set is larger than the last command's"), now);
    return;
  }
  // An older command was replaced by a newer one, whose answer is still to come.
  if (applied.set < session.last_set.set || !session.last_set_open) return;
  if (applied.batch_size != session.last_set.batch_size || applied.run != session.last_set.run) {
    answer(session, invalid("batch_size or run is not what the command asked for"), now);
    return;
  }
  session.last_set_open = false;
  session.workload.batch_size = applied.batch_size;  // with which it would attach anew
  Event& event = events.emplace_back();
  event.type = EventType::applied;
  event.handle = session.workload.handle;
  event.set_sequence = applied.set;
  event.batch_size = applied.batch_size;
}

void Sessions::take(Session& session, const wire::Refused& refused, EventBuffer& events) {
  if (refused.set != session.last_set.set || refused.set == session.refused_set) return;
  // Only running it shows that a size does not fit, so that this may come after it was applied.
  if (!session.last_set_open && (refused.code.view() != "memory" || !go_back(session, events))) {
    return;
  }
  session.last_set_open = false;
  session.refused_set = refused.set;
  Event& event = events.emplace_back();
  event.type = EventType::refused;
  event.handle = session.workload.handle;
  event.set_sequence = refused.set;
  event.batch_size = session.last_set.batch_size;
  event.text = decltype(event.text)(std::string(refused.code.view()) + ": " +
                                    std::string(refused.message.view()));
}

// A smaller size than that of the last command is in force again; false where none is offered.
bool Sessions::go_back(Session& session, EventBuffer& events) {
  Workload& workload = session.workload;
  const auto* const begin = workload.batch_sizes.data();
  const auto* const larger =
      std::lower_bound(begin, begin + workload.batch_size_count, session.last_set.batch_size);
  if (larger == begin) return false;
  workload.batch_size = *(larger - 1);
  Event& event = events.emplace_back();
  event.type = EventType::applied;
  event.handle = workload.handle;
  event.set_sequence = session.last_set.set;
  event.batch_size = workload.batch_size;
  return true;
}

void Sessions::take(Session& session, const wire::Saved& saved, EventBuffer& events) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", seconds(saved.elapsed));
  answer_checkpoint(session, saved.checkpoint, EventType::saved, text, events);
}

void Sessions::take(Session& session, const wire::Unsaved& unsaved, EventBuffer& events) {
  answer_checkpoint(session, unsaved.checkpoint, EventType::unsaved, unsaved.message.view(),
                    events);
}

// What nobody asked for is no answer.
void Sessions::answer_checkpoint(Session& session, std::uint32_t checkpoint, EventType type,
                                 std::string_view text, EventBuffer& events) {
  if (checkpoint != session.checkpoint) return;
  session.checkpoint = 0;
  Event& event = events.emplace_back();
  event.type = type;
  event.handle = session.workload.handle;
  event.set_sequence = checkpoint;
  event.text = decltype(event.text)(text);
}

}  // namespace gearshift
