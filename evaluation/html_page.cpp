#include "evaluation/html_page.h"

#include "evaluation/chart.h"
#include "evaluation/marker.h"

namespace gearshift {
namespace {

constexpr std::string_view kStyle = R"(
:root{--raised:#f5f7f9}
@media(prefers-color-scheme:dark){:root{--raised:#1c2228}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1240px;padding:1rem;background:var(--back);color:var(--text);font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.5rem;line-height:1.25;margin:.5rem 0}
h2{font-size:1.15rem;margin:2rem 0 .25rem}
p{margin:.25rem 0 .75rem;max-width:46rem}
.faint{color:var(--faint)}
.scroll{overflow-x:auto;border:1px solid var(--line);border-radius:6px}
table{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums;width:100%}
th,td{padding:.3rem .6rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}
th{font-weight:600;background:var(--raised)}
th:first-child,td:first-child{position:sticky;left:0;background:var(--raised);z-index:1}
th:nth-child(-n+2),td:nth-child(-n+2){text-align:left}
tr:last-child td{border-bottom:0}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.25rem 1rem;margin:.5rem 0;padding:0;font-size:.875rem}
.legend svg,td svg{width:14px;height:14px;vertical-align:-2px;margin-right:.35rem}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,340px),1fr));gap:1rem}
figure{margin:0;max-width:560px}
figcaption{font-size:.875rem;font-weight:600}
figure svg{display:block;width:100%;height:auto}
dl{display:grid;grid-template-columns:minmax(5rem,auto) 1fr;gap:.25rem 1rem;font-size:.875rem;margin:0}
dt{color:var(--faint)}dd{margin:0;overflow-wrap:anywhere}
code{font-size:.8125rem}
)";

std::string key(std::size_t series) {
  return "<svg viewBox=\"0 0 14 14\" aria-hidden=\"true\">" + marker(series, 7, 7, 4) + "</svg>";
}

std::string legend(const Grid& grid) {
  std::string out = "<ul class=\"legend\">";
  for (std::size_t i = 0; i < grid.policies.size(); ++i) {
    out += "<li>" + key(i) + escaped(grid.policies[i].name) + "</li>";
  }
  return out + "</ul>\n";
}

std::size_t series_of(const Grid& grid, const std::string& name) {
  for (std::size_t i = 0; i < grid.policies.size(); ++i) {
    if (grid.policies[i].name == name) return i;
  }
  return 0;
}

std::string term(const std::string& name, const std::string& value, bool code) {
  if (value.empty()) return "";
  const std::string text = escaped(value);
  return "<dt>" + name + "</dt><dd>" + (code ? "<code>" + text + "</code>" : text) + "</dd>\n";
}

}  // namespace

std::string html_head(const std::string& heading) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<title>gearshift evaluation</title>\n<style>";
  out += kStyle;
  out += chart_style();
  return out + "</style></head><body>\n<h1>" + escaped(heading) + "</h1>\n";
}

std::string html_table(const Grid& grid, const ComparisonTable& table) {
  if (table.lines.empty()) return "";
  std::string out =
      "<h2>" + escaped(table.title) + "</h2>\n<div class=\"scroll\"><table><thead><tr>";
  for (const std::string_view column : table.columns) {
    out += "<th scope=\"col\">" + escaped(column) + "</th>";
  }
  out += "</tr></thead><tbody>\n";
  const bool of_policies = table.columns.front() == "policy";
  for (const std::vector<std::string>& line : table.lines) {
    out += "<tr>";
    for (std::size_t i = 0; i < line.size(); ++i) {
      const bool keyed = of_policies && i == 0;
      out += "<td>" + (keyed ? key(series_of(grid, line[0])) : std::string()) + escaped(line[i]) +
             "</td>";
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string html_lines(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += "<p>" + escaped(line) + "</p>\n";
  return out;
}

std::string html_figures(const Grid& grid, const std::string& title, const std::string& text,
                         const std::function<std::string(std::size_t)>& draw) {
  std::string out = "<h2>" + title + "</h2>\n<p>" + text + "</p>\n" + legend(grid);
  out += "<div class=\"figures\">\n";
  for (std::size_t i = 0; i < grid.workloads.size(); ++i) {
    out += "<figure><figcaption>" + escaped(grid.workloads[i].name) + "</figcaption>" + draw(i) +
           "</figure>\n";
  }
  return out + "</div>\n";
}

std::string html_end(const Grid& grid, const Provenance& provenance) {
  std::string out = "<h2>How it was made</h2>\n<dl>\n";
  out += term("command", provenance.command, true);
  out += term("conditions", provenance.conditions, false);
  out += term("version", provenance.version, false);
  out += term("date", provenance.date, false);
  for (const Target& workload : grid.workloads) {
    const Profile& profile = workload.optimum.profile();
    out += term("workload",
                workload.name + ": " + profile.workload + " on " + profile.device + ", " +
                    settings_text(workload, profile.cells().size()),
                false);
  }
  return out + "</dl>\n</body></html>\n";
}

std::string count_of(std::size_t count, const std::string& one, const std::string& many) {
  return std::to_string(count) + ' ' + (count == 1 ? one : many);
}

}  // namespace gearshift
