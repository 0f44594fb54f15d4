// What `gearshift evaluate` can be told: flags, and the same words in a TOML file.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "evaluation/problem.h"

namespace gearshift {

struct EvaluateOptions {
  std::string spec;
  std::vector<std::string> profile;
  std::vector<std::string> prior;
  std::vector<std::string> own_prior;      // of the workloads that are judged, on another day
  std::vector<std::string> infer_profile;  // concurrent only
  std::vector<std::string> suspect;        // lists of cells that are no optimum
  std::vector<std::string> requests;       // concurrent only: "poisson", "trace:FILE"
  std::uint32_t minutes = 60;              // concurrent only: virtual ones, with --requests
  std::string switch_ms;                   // concurrent only: what a change of clocks may take
  std::vector<std::string> policy;
  std::vector<std::string> keep;  // "knob=a,b,c"
  std::string problem = "train";
  std::string caps;               // W, or none; empty: 10:50:1, and for online none
  std::string objective;          // empty: time for train, latency for infer
  std::string energy_per_sample;  // "2J"; empty: no limit
  std::string latency_ms;         // infer and concurrent
  std::string rate;               // requests a second; infer and concurrent
  std::string effects;            // empty: none, and for online jitter,noise
  std::string missing = "refuse";
  std::string board;  // whose model fills missing cells
  std::string model;  // its workload that does; empty: the one of the profile's name
  std::uint32_t probes = 5000;
  std::uint32_t seeds = 1;
  std::uint32_t threads = 0;  // 0: one a core
  std::string json;
  std::string csv;
  std::string html;
  std::string epochs;            // recurring only: CSV file of recorded runs
  std::vector<std::string> job;  // recurring only: "WORKLOAD,TARGET,BATCH,MOST_EPOCHS"
  double eta = 0.5;              // recurring only: what energy counts beside time, 0 to 1
  double beta = 2;               // recurring only: a run of so many times the least cost is stopped
  std::string weights = "0,0.25,0.5,0.75,1";  // of weighted: energy beside time, 0 to 1
  std::uint32_t measurements = 500;           // online only
  std::string results;                        // the file of trials; empty: beside the first report
};

// Adds the flags to `command`.
void add_evaluate_flags(CLI::App& command, EvaluateOptions& options);

// Fills in from the file `options.spec`, if one is given, what no flag of `command` has set.
// Throws std::runtime_error with file, line, key, value and what is allowed.
void read_evaluate_spec(const CLI::App& command, EvaluateOptions& options);
// The same from a text; `options.spec` names it in errors.
void apply_evaluate_spec(std::string_view text, const CLI::App& command, EvaluateOptions& options);

// "10:50:1" (from, to, step, both ends belong to it), "15,20,30" or "30": at most 10,000 numbers
// from 0.001 on. Throws std::invalid_argument that names the option, the text and the forms.
std::vector<double> parse_numbers(const std::string& option, const std::string& text);

// The effects that are on: those asked for, or what is usual for the problem.
std::string effects_of(const EvaluateOptions& options);

// Every combination of the limits; powers change slowest. For options that check_evaluate_options
// lets pass, of a problem that is a grid. Throws std::runtime_error that names the option, its
// value and what is allowed.
std::vector<Problem> make_problems(const EvaluateOptions& options);

// Checks what needs no file, and that the problem takes every option that was given a value of its
// own. Throws std::runtime_error likewise.
void check_evaluate_options(const EvaluateOptions& options);

}  // namespace gearshift
