// The rules of the house that a program can check: who includes whom, banned names, lengths,
// layout. Each check is a pure function of a file's path and text, so that it can be tested on
// small trees.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gearshift::tidy {

// One file: its path from the repository root, with '/', and its text.
struct Source {
  std::string path;
  std::string text;
};

// A broken rule, where it is broken, and what to do about it. Lines count from 1.
struct Finding {
  std::string path;
  std::size_t line = 0;
  std::string rule;
  std::string advice;
};
// "controller/loop.cpp:12: clock: steady_clock: take a const Clock&"
std::string describe(const Finding& finding);

// A file that may break a rule, and why.
struct Exemption {
  std::string_view rule;
  std::string_view path;
  std::string_view reason;
};
std::span<const Exemption> exemptions();

// A C++ text line by line, in two views of equal shape: `code` has comments, the contents of
// literals and preprocessor directives blanked; `literals` keeps nothing but string literals.
struct Views {
  std::vector<std::string> raw;
  std::vector<std::string> code;
  std::vector<std::string> literals;
};
Views split_views(std::string_view text);

bool is_cpp(std::string_view path);
bool is_header(std::string_view path);
// True when `path` is `folder` or lies below it.
bool below(std::string_view path, std::string_view folder);

// The arrows between rooms, and which third-party headers each room may include.
std::vector<Finding> check_includes(const Source& source, const Views& views);
// Arrows that no file needs. Of all files of the tree at once: not part of check(), which also
// takes a few of them.
std::vector<Finding> check_arrows(std::span<const Source> sources);
// Names and path texts that belong to few files: clocks, sleeps, threads, randomness, libraries.
std::vector<Finding> check_names(const Source& source, const Views& views);
// File and function length.
std::vector<Finding> check_lengths(const Source& source, const Views& views);
// File names, folders, the opening comment of headers, unfinished-work marks. Any text file.
std::vector<Finding> check_layout(const Source& source);
// Types that two headers define under one full name. Of all files at once.
std::vector<Finding> check_types(std::span<const Source> sources);
// Names that two .cpp files each have in an anonymous namespace, where they are of one room or of a
// folder of tests that is compiled together. Of all files at once.
std::vector<Finding> check_own_names(std::span<const Source> sources);

// All rules over all files, without what `exemptions` allow; an exemption that no file needs, or
// that gives no reason, is a finding too.
std::vector<Finding> check(std::span<const Source> sources, std::span<const Exemption> exemptions);

}  // namespace gearshift::tidy
