// The files of a virtual board: folders, links, and files whose text is made when they are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace gearshift {

// What a read gives: text, or the errno it fails with.
struct FileText {
  std::string text;
  int error = 0;
};

enum class NodeKind : std::uint8_t { folder, file, link };

// What stat(2) tells of a file: sysfs says a page, debugfs and /proc say 0, the device tree tells
// the truth.
enum class SizeRule : std::uint8_t { page, zero, exact };

using FileReader = std::function<FileText()>;
using FileWriter = std::function<int(std::string_view)>;  // trimmed text; 0 or an errno

struct BoardNode {
  NodeKind kind = NodeKind::folder;
  std::uint16_t mode = 0755;
  SizeRule size_rule = SizeRule::page;
  std::string path;    // without links
  std::string target;  // of a link: relative, so that it stays inside wherever it is mounted
  FileReader read;
  FileWriter write;  // empty: nobody can write it
  BoardNode* parent = nullptr;
  std::map<std::string, std::unique_ptr<BoardNode>, std::less<>> children;

  std::size_t size() const;
};

// Paths are absolute as on the board. Adding makes the folders on the way; a path is added once.
class BoardTree {
 public:
  BoardTree();

  void add_folder(std::string_view path, std::uint16_t mode);
  BoardNode& add_file(std::string_view path, std::uint16_t mode, FileReader read,
                      FileWriter write = {});
  // World-readable text that never changes; a newline is added.
  BoardNode& add_text(std::string_view path, std::string text);
  // A number that root can write; `allowed` says which values, EINVAL for any other.
  void add_number(std::string_view path, std::int64_t& value,
                  std::function<bool(std::int64_t)> allowed);
  void add_link(std::string_view path, std::string_view target);

  // Links on the way are followed, one at the end is not. Null where there is nothing.
  const BoardNode* find(std::string_view path) const;
  // All links are followed. Null where there is nothing, or the links go round in a circle.
  const BoardNode* follow(std::string_view path) const;

 private:
  BoardNode& add(std::string_view path, NodeKind kind);
  const BoardNode* walk(const BoardNode* from, std::string_view path, bool follow_last,
                        int links) const;

  BoardNode root_;
};

// "text\n", as sysfs ends a value.
FileText line(std::string_view text);
FileText line(std::int64_t value);
// The whole text as an integer, else nothing.
std::optional<std::int64_t> whole_integer(std::string_view text);
std::string_view trimmed_text(std::string_view text);

}  // namespace gearshift
