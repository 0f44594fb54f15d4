// A folder of pretended device files; removed with all it holds when the test ends.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

namespace gearshift::fakes {

// Paths are board paths ("/sys/class/hwmon"), below root().
class TempTree {
 public:
  TempTree() {
    std::string pattern = (std::filesystem::temp_directory_path() / "gearshift-XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::runtime_error("cannot make " + pattern);
    root_ = pattern;
    // Tests that drop root must still be able to walk in.
    std::filesystem::permissions(root_, std::filesystem::perms(0755));
  }
  TempTree(const TempTree&) = delete;
  TempTree& operator=(const TempTree&) = delete;
  ~TempTree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path at(std::string_view path) const {
    return root_ / std::filesystem::path(path).relative_path();
  }

  // Creates the folders on the way too.
  void put(std::string_view path, std::string_view text) const {
    std::filesystem::create_directories(at(path).parent_path());
    std::ofstream(at(path), std::ios::binary) << text;
  }
  void folder(std::string_view path) const { std::filesystem::create_directories(at(path)); }
  void link(std::string_view path, std::string_view target) const {
    std::filesystem::create_directories(at(path).parent_path());
    std::filesystem::create_symlink(target, at(path));
  }
  void mode(std::string_view path, unsigned bits) const {
    std::filesystem::permissions(at(path), std::filesystem::perms(bits));
  }
  void remove(std::string_view path) const { std::filesystem::remove_all(at(path)); }
  // Exactly the bytes of the file.
  std::string get(std::string_view path) const {
    std::ifstream in(at(path), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

 private:
  std::filesystem::path root_;
};

}  // namespace gearshift::fakes
