#include "evaluation/marker.h"

#include <array>
#include <cmath>
#include <numbers>

#include "evaluation/number_text.h"

namespace gearshift {
namespace {

constexpr std::size_t kColours = 8;
constexpr std::size_t kShapes = 8;

// Of a regular polygon, or of a star whose inner corners lie `inner` times as far out.
std::string polygon(double x, double y, double radius, int corners, double turn, double inner = 1) {
  std::string path;
  for (int i = 0; i < corners; ++i) {
    const double angle = 2 * std::numbers::pi * (i + turn) / corners;
    const double reach = i % 2 == 1 ? inner * radius : radius;
    path += (i == 0 ? "M" : "L") + fixed(x + reach * std::sin(angle), 1) + ' ' +
            fixed(y - reach * std::cos(angle), 1);
  }
  return path + 'Z';
}

std::string strokes(double x, double y, double reach, bool upright) {
  const double dx = upright ? 0 : reach;
  const double dy = reach;
  return "M" + fixed(x - dx, 1) + ' ' + fixed(y - dy, 1) + 'L' + fixed(x + dx, 1) + ' ' +
         fixed(y + dy, 1) + 'M' + fixed(x - dy, 1) + ' ' + fixed(y + dx, 1) + 'L' +
         fixed(x + dy, 1) + ' ' + fixed(y - dx, 1);
}

std::string path_of(std::size_t shape, double x, double y, double r) {
  switch (shape) {
    case 1:
      return polygon(x, y, 1.25 * r, 4, 0.5);  // square
    case 2:
      return polygon(x, y, 1.35 * r, 3, 0);  // triangle
    case 3:
      return polygon(x, y, 1.35 * r, 4, 0);  // diamond
    case 4:
      return polygon(x, y, 1.35 * r, 3, 0.5);  // triangle on its tip
    case 5:
      return strokes(x, y, r, false);  // cross
    case 6:
      return strokes(x, y, 1.3 * r, true);  // plus
    case 7:
      return polygon(x, y, 1.5 * r, 10, 0, 0.45);  // star
    default:
      return "";
  }
}

}  // namespace

std::string marker(std::size_t series, double x, double y, double radius) {
  const std::size_t shape = (series + series / kColours) % kShapes;
  const std::string kind = "class=\"marker " + colour_class(series) + '"';
  if (shape == 0) {
    return "<circle " + kind + " cx=\"" + fixed(x, 1) + "\" cy=\"" + fixed(y, 1) + "\" r=\"" +
           fixed(radius, 1) + "\"/>";
  }
  return "<path " + kind + " d=\"" + path_of(shape, x, y, radius) + "\"/>";
}

std::string colour_class(std::size_t series) { return "s" + std::to_string(series % kColours); }

std::string_view marker_style() {
  return R"(:root{--s0:#0072b2;--s1:#d55e00;--s2:#00805c;--s3:#b0468c;--s4:#a67400;--s5:#332288;--s6:#5b5b5b;--s7:#7a3d00}
@media(prefers-color-scheme:dark){:root{--s0:#56a8e0;--s1:#ff8438;--s2:#2cc79b;--s3:#e39ac6;--s4:#f0b429;--s5:#a99cff;--s6:#b8b8b8;--s7:#c98f5a}}
.s0{--c:var(--s0)}.s1{--c:var(--s1)}.s2{--c:var(--s2)}.s3{--c:var(--s3)}.s4{--c:var(--s4)}.s5{--c:var(--s5)}.s6{--c:var(--s6)}.s7{--c:var(--s7)}
.marker{fill:color-mix(in srgb,var(--c) 30%,transparent);stroke:var(--c);stroke-width:1.4}
.line{fill:none;stroke:var(--c);stroke-width:1.5}
.bar{fill:var(--c)}
)";
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace gearshift
