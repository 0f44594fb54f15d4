#include "trace/recording_schema.h"

namespace gearshift {
namespace {

constexpr Table kTables[] = {
    {"metadata", "CREATE TABLE metadata (key TEXT PRIMARY KEY, value)"},
    {"texts", "CREATE TABLE texts (role TEXT, name TEXT, text TEXT)"},
    {"knobs",
     "CREATE TABLE knobs (knob INTEGER PRIMARY KEY, name TEXT, unit TEXT, class TEXT, "
     "follows_cores INTEGER)"},
    {"knob_values", "CREATE TABLE knob_values (knob INTEGER, value INTEGER)"},
    {"limit_sources", "CREATE TABLE limit_sources (source INTEGER PRIMARY KEY, name TEXT)"},
    {"settings",
     "CREATE TABLE settings (setting INTEGER PRIMARY KEY, mode TEXT, train_batch INTEGER, "
     "infer_batch INTEGER, run TEXT, knob_0 INTEGER, knob_1 INTEGER, knob_2 INTEGER, "
     "knob_3 INTEGER, knob_4 INTEGER, knob_5 INTEGER, knob_6 INTEGER, knob_7 INTEGER)"},
    {"ticks", "CREATE TABLE ticks (tick INTEGER PRIMARY KEY, time_ns INTEGER)"},
    {"readings",
     "CREATE TABLE readings (tick INTEGER, quantity TEXT, channel INTEGER, state TEXT, "
     "estimate INTEGER, value INTEGER, taken_ns INTEGER)"},
    {"events",
     "CREATE TABLE events (tick INTEGER, position INTEGER, type TEXT, workload INTEGER, "
     "batch_size INTEGER, set_sequence INTEGER, signal INTEGER, power_mw INTEGER, text TEXT)"},
    {"minibatches",
     "CREATE TABLE minibatches (tick INTEGER, position INTEGER, workload INTEGER, kind TEXT, "
     "batch_size INTEGER, set_sequence INTEGER, epoch INTEGER, sequence INTEGER, "
     "elapsed_ns INTEGER, fetch_stall_ns INTEGER, compute_ns INTEGER, received_ns INTEGER)"},
    {"workloads",
     "CREATE TABLE workloads (tick INTEGER, position INTEGER, workload INTEGER, kind TEXT, "
     "managed INTEGER, pid INTEGER, batch_size INTEGER, batch_sizes TEXT, "
     "samples_per_epoch INTEGER, name TEXT, latency_ns INTEGER, saves INTEGER)"},
    {"requests",
     "CREATE TABLE requests (tick INTEGER, position INTEGER, workload INTEGER, sequence INTEGER, "
     "set_sequence INTEGER, span_ns INTEGER, arrived INTEGER, served INTEGER, late INTEGER, "
     "refused INTEGER, queued INTEGER, latency_p50_ns INTEGER, latency_p95_ns INTEGER, "
     "latency_p99_ns INTEGER, latency_max_ns INTEGER, received_ns INTEGER)"},
    {"knob_calls",
     "CREATE TABLE knob_calls (tick INTEGER, call INTEGER, action TEXT, outcome TEXT, "
     "knob INTEGER, value INTEGER, pid INTEGER, kind TEXT, text TEXT, wrote_ns INTEGER)"},
    {"explanations",
     "CREATE TABLE explanations (tick INTEGER, quantity TEXT, channel INTEGER, text TEXT)"},
    {"limits",
     "CREATE TABLE limits (tick INTEGER, source INTEGER, power_mw INTEGER, planned_mw INTEGER, "
     "ends_soon INTEGER, moves INTEGER)"},
    {"scripts", "CREATE TABLE scripts (tick INTEGER, text TEXT)"},
    {"script_stops", "CREATE TABLE script_stops (tick INTEGER, look INTEGER)"},
    {"commands",
     "CREATE TABLE commands (tick INTEGER, workload INTEGER, sequence INTEGER, "
     "batch_size INTEGER, run TEXT)"},
    {"observations",
     "CREATE TABLE observations (observation INTEGER PRIMARY KEY, tick INTEGER, setting INTEGER, "
     "outcome TEXT, from_memory INTEGER, power_is_estimate INTEGER, power_mean_mw INTEGER, "
     "power_max_mw INTEGER, power_margin_mw INTEGER, limit_mw INTEGER, duration_ns INTEGER, "
     "confidence REAL, "
     "train_minibatches INTEGER, train_minibatch_mean_ns INTEGER, "
     "train_minibatch_stddev_ns INTEGER, train_minibatch_p99_ns INTEGER, "
     "train_fetch_stall_mean_ns INTEGER, train_compute_mean_ns INTEGER, "
     "infer_minibatches INTEGER, infer_minibatch_mean_ns INTEGER, "
     "infer_minibatch_stddev_ns INTEGER, infer_minibatch_p99_ns INTEGER, "
     "infer_fetch_stall_mean_ns INTEGER, infer_compute_mean_ns INTEGER)"},
    {"notes",
     "CREATE TABLE notes (tick INTEGER, type TEXT, time_ns INTEGER, workload INTEGER, "
     "value INTEGER, setting INTEGER, observation INTEGER, text TEXT)"},
};

// Format 1 knew no requests, and of a workload not how soon they must be answered.
constexpr Table kWorkloads1{"workloads",
                            "CREATE TABLE workloads (tick INTEGER, position INTEGER, "
                            "workload INTEGER, kind TEXT, managed INTEGER, pid INTEGER, "
                            "batch_size INTEGER, batch_sizes TEXT, samples_per_epoch INTEGER, "
                            "name TEXT)"};
// Format 2 knew no plans' caps, no end of power, and of a workload not whether it saves its work.
constexpr Table kWorkloads2{"workloads",
                            "CREATE TABLE workloads (tick INTEGER, position INTEGER, "
                            "workload INTEGER, kind TEXT, managed INTEGER, pid INTEGER, "
                            "batch_size INTEGER, batch_sizes TEXT, samples_per_epoch INTEGER, "
                            "name TEXT, latency_ns INTEGER)"};
constexpr Table kLimits2{"limits",
                         "CREATE TABLE limits (tick INTEGER, source INTEGER, power_mw INTEGER)"};
// Format 3 knew not when a knob was written.
constexpr Table kKnobCalls3{"knob_calls",
                            "CREATE TABLE knob_calls (tick INTEGER, call INTEGER, action TEXT, "
                            "outcome TEXT, knob INTEGER, value INTEGER, pid INTEGER, kind TEXT, "
                            "text TEXT)"};

// Format 5 took every cap for one that moves by itself.
constexpr Table kLimits5{"limits",
                         "CREATE TABLE limits (tick INTEGER, source INTEGER, power_mw INTEGER, "
                         "planned_mw INTEGER, ends_soon INTEGER)"};
// Format 6 took a knob for one that follows cores by its name.
constexpr Table kKnobs6{
    "knobs", "CREATE TABLE knobs (knob INTEGER PRIMARY KEY, name TEXT, unit TEXT, class TEXT)"};

}  // namespace

std::vector<Table> recording_tables(std::int64_t version) {
  std::vector<Table> tables;
  for (const Table& table : kTables) {
    if (version == 1 && table.name == "requests") continue;
    if (version <= 4 && table.name == "script_stops") continue;
    const bool workloads = table.name == kWorkloads1.name;
    tables.push_back(version == 1 && workloads                        ? kWorkloads1
                     : version == 2 && workloads                      ? kWorkloads2
                     : version <= 2 && table.name == kLimits2.name    ? kLimits2
                     : version <= 5 && table.name == kLimits5.name    ? kLimits5
                     : version <= 3 && table.name == kKnobCalls3.name ? kKnobCalls3
                     : version <= 6 && table.name == kKnobs6.name     ? kKnobs6
                                                                      : table);
  }
  return tables;
}

}  // namespace gearshift
