// The colour and the shape by which a policy is known in every picture and legend of a report.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gearshift {

// Shapes differ as colours do, so that neither is needed alone. From the ninth series on the pairs
// are new ones.
// SVG elements of series `series`, centred on (x, y), of class "marker sN" with N a colour.
std::string marker(std::size_t series, double x, double y, double radius);
// The class of its colour, "s0" to "s7".
std::string colour_class(std::size_t series);
// Style rules of these classes, for light and dark backgrounds, after the colours of Okabe
// and Ito (2008), which people with any kind of colour blindness can tell apart.
std::string_view marker_style();

// Text as it may stand in HTML and SVG, between tags and in attributes.
std::string escaped(std::string_view text);

}  // namespace gearshift
