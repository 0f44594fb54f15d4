# The program's own parts that need no daemon: cli is no library, but its tests and fuzz targets use
# these.
set(cli_parts arrival_flags battery_flags command_words empty_values evaluate_options evaluate_problems evaluate_requests explaining_recorder goal_flags goal_limits heat_notes
    json_recorder knob_values model_targets note_text one_value_each outlet output_files pareto_chart pareto_report predicted_grid prior_tables profile_files profile_knobs profile_progress quoted_word rationale_text record_flag recorded_goal recording_end run_options select_board service_notice
    setting_prediction simulated_costs simulated_faults simulated_mission simulated_problem summary_text text_file thermal_flag toml_text units written_output)
list(TRANSFORM cli_parts PREPEND ${PROJECT_SOURCE_DIR}/cli/)
list(TRANSFORM cli_parts APPEND .cpp)
add_library(cli_parts STATIC EXCLUDE_FROM_ALL ${cli_parts})
target_include_directories(cli_parts PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(cli_parts PUBLIC gearshift_limits gearshift_sensors gearshift_boards gearshift_policies gearshift_policies_powertrain gearshift_trace
                      gearshift_evaluation gearshift_simulator CLI11::CLI11 spdlog::spdlog
                      tomlplusplus::tomlplusplus)
