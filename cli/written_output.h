// Where a command writes what an output flag asks for: a file, or standard output.
#pragma once

#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>

namespace gearshift {

// "-", or a name that the system has for it. An empty one is not.
bool is_standard_output(std::string_view output);

// Replaces the file (trace/replace_file.h), or writes to standard output, where main tells of what
// did not get there. Throws std::runtime_error.
void write_output(const std::string& output, std::string_view text);

// Throws std::runtime_error where the file cannot be replaced. Writes nothing.
void check_output(const std::string& output);

// Where the rest of the answer goes: standard error where one of the outputs has standard output
// for itself.
std::FILE* rest_of_answer(std::initializer_list<std::string_view> outputs);

}  // namespace gearshift
