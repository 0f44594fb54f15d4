#include "simulator/board_tree.h"

#include <cassert>
#include <cerrno>
#include <charconv>
#include <utility>
#include <vector>

namespace gearshift {
namespace {

constexpr int kMaxLinks = 16;
constexpr std::size_t kPageBytes = 4096;

std::vector<std::string_view> components(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    if (slash > 0) parts.push_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return parts;
}

// The way from the folder that holds `link` to `target`, as sysfs writes its links.
std::string relative_target(std::string_view link, std::string_view target) {
  const std::vector<std::string_view> from = components(link);
  const std::vector<std::string_view> to = components(target);
  std::size_t shared = 0;
  while (shared + 1 < from.size() && shared < to.size() && from[shared] == to[shared]) ++shared;
  std::string text;
  for (std::size_t i = shared; i + 1 < from.size(); ++i) text += "../";
  for (std::size_t i = shared; i < to.size(); ++i) {
    text += to[i];
    if (i + 1 < to.size()) text += '/';
  }
  return text;
}

}  // namespace

std::size_t BoardNode::size() const {
  if (kind == NodeKind::link) return target.size();
  if (kind == NodeKind::folder) return 0;
  switch (size_rule) {
    case SizeRule::page:
      return kPageBytes;
    case SizeRule::zero:
      return 0;
    case SizeRule::exact:
      return read().text.size();
  }
  return 0;
}

BoardTree::BoardTree() { root_.path = ""; }

BoardNode& BoardTree::add(std::string_view path, NodeKind kind) {
  BoardNode* node = &root_;
  for (const std::string_view part : components(path)) {
    assert(node->kind == NodeKind::folder);
    std::unique_ptr<BoardNode>& child = node->children[std::string(part)];
    if (!child) {
      child = std::make_unique<BoardNode>();
      child->path = node->path + '/' + std::string(part);
      child->parent = node;
      child->size_rule = node->size_rule;
    }
    node = child.get();
  }
  assert(kind == NodeKind::folder || (node->children.empty() && !node->read));
  node->kind = kind;
  return *node;
}

void BoardTree::add_folder(std::string_view path, std::uint16_t mode) {
  add(path, NodeKind::folder).mode = mode;
}

BoardNode& BoardTree::add_file(std::string_view path, std::uint16_t mode, FileReader read,
                               FileWriter write) {
  BoardNode& node = add(path, NodeKind::file);
  node.mode = mode;
  node.read = std::move(read);
  node.write = std::move(write);
  return node;
}

BoardNode& BoardTree::add_text(std::string_view path, std::string text) {
  text += '\n';
  return add_file(path, 0444, [text = std::move(text)] { return FileText{text}; });
}

void BoardTree::add_number(std::string_view path, std::int64_t& value,
                           std::function<bool(std::int64_t)> allowed) {
  add_file(
      path, 0644, [&value] { return line(value); },
      [&value, allowed = std::move(allowed)](std::string_view text) {
        const std::optional<std::int64_t> wanted = whole_integer(text);
        if (!wanted || !allowed(*wanted)) return EINVAL;
        value = *wanted;
        return 0;
      });
}

void BoardTree::add_link(std::string_view path, std::string_view target) {
  BoardNode& node = add(path, NodeKind::link);
  node.mode = 0777;
  node.target = relative_target(path, target);
}

const BoardNode* BoardTree::walk(const BoardNode* from, std::string_view path, bool follow_last,
                                 int links) const {
  const std::vector<std::string_view> parts = components(path);
  const BoardNode* node = from;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == ".") continue;
    if (parts[i] == "..") {
      node = node->parent ? node->parent : node;
      continue;
    }
    const auto child = node->children.find(parts[i]);
    if (child == node->children.end()) return nullptr;
    node = child->second.get();
    if (node->kind != NodeKind::link || (i + 1 == parts.size() && !follow_last)) continue;
    if (links == 0) return nullptr;
    node = walk(node->parent, node->target, true, links - 1);
    if (!node) return nullptr;
  }
  return node;
}

const BoardNode* BoardTree::find(std::string_view path) const {
  return walk(&root_, path, false, kMaxLinks);
}

const BoardNode* BoardTree::follow(std::string_view path) const {
  return walk(&root_, path, true, kMaxLinks);
}

FileText line(std::string_view text) { return {std::string(text) + '\n'}; }
FileText line(std::int64_t value) { return {std::to_string(value) + '\n'}; }

std::optional<std::int64_t> whole_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view trimmed_text(std::string_view text) {
  constexpr std::string_view kBlank(" \t\r\n\0", 5);
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

}  // namespace gearshift
