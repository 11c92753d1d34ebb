# Draws CSV files side by side as one SVG, for the pages. The first column is x. Of the others, `mean` and `sample..` are lines, `lower` and
# `upper` a band, and `y` points.
#   awk -v titles='one|two' -v columns=2 -v width=220 -v height=120 -v since=1990 -f panels.awk one.csv two.csv > figure.svg
# since: where the forecast begins, a dashed line; none if it is not given.
BEGIN { FS = "," }
FNR == 1 {
  panel++
  for (j = 1; j <= NF; j++) { name[panel, j] = $j }
  fields[panel] = NF
  next
}
{
  i = ++rows[panel]
  for (j = 1; j <= NF; j++) {
    cell[panel, i, j] = $j
    if (j > 1 && $j != "" && drawn(name[panel, j])) { spread(panel, $j + 0) }
  }
}
function drawn(what) { return what == "mean" || what == "lower" || what == "upper" || what == "y" || what ~ /^sample/ }
function spread(p, value) {
  if (!(p in low) || value < low[p]) { low[p] = value }
  if (!(p in high) || value > high[p]) { high[p] = value }
}
function right(p, x) {
  return left + (x - cell[p, 1, 1]) / (cell[p, rows[p], 1] - cell[p, 1, 1]) * (width - 2 * gap)
}
function down(p, y) {
  return top + (high[p] > low[p] ? (high[p] - y) / (high[p] - low[p]) : 0.5) * (height - 2 * gap - 16)
}
function at(p, i, j) { return sprintf("%.1f,%.1f ", right(p, cell[p, i, 1]), down(p, cell[p, i, j])) }
function column(p, what,    j) {
  for (j = 2; j <= fields[p]; j++) { if (name[p, j] == what) { return j } }
  return 0
}
function line(p, j, style,    i, path) {
  for (i = 1; i <= rows[p]; i++) { path = path at(p, i, j) }
  printf "<polyline fill=\"none\" %s points=\"%s\"/>\n", style, path
}
function band(p,    i, path) {
  for (i = 1; i <= rows[p]; i++) { path = path at(p, i, column(p, "upper")) }
  for (i = rows[p]; i >= 1; i--) { path = path at(p, i, column(p, "lower")) }
  printf "<polygon fill=\"#4a7fb5\" fill-opacity=\"0.3\" points=\"%s\"/>\n", path
}
function points(p, j,    i) {
  for (i = 1; i <= rows[p]; i++) {
    if (cell[p, i, j] != "") {
      printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"1.4\" fill=\"%s\"/>\n", right(p, cell[p, i, 1]), down(p, cell[p, i, j]),
             (since != "" && cell[p, i, 1] >= since ? "#d0602a" : "#808080")
    }
  }
}
function words(x, y, anchor, text) {
  gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text)
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, text
}
function draw(p, title,    j, colours) {
  printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" stroke=\"#b0b0b0\"/>\n", left - gap / 2, top - gap / 2,
         width - gap, height - gap - 16
  words(left - gap / 2, top - gap / 2 - 4, "start", title)
  if (column(p, "lower")) { band(p) }
  if (column(p, "mean")) { line(p, column(p, "mean"), "stroke=\"#2a78b5\" stroke-width=\"1.2\"") }
  for (j = 2; j <= fields[p]; j++) {
    if (name[p, j] ~ /^sample/) { line(p, j, "stroke-width=\"1.3\" stroke=\"" colour[1 + j % 3] "\"") }
  }
  if (column(p, "y")) { points(p, column(p, "y")) }
  if (since != "") {
    printf "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#808080\" stroke-dasharray=\"4 3\"/>\n", right(p, since),
           right(p, since), top - gap / 2, top + height - 1.5 * gap - 16
    words(left + width - 1.5 * gap, top - gap / 2 - 4, "end",
          sprintf("%.0f to %.0f; %.4g to %.4g", cell[p, 1, 1], cell[p, rows[p], 1], low[p], high[p]))
  }
}
END {
  gap = 12
  colour[1] = "#2a78b5"; colour[2] = "#d0602a"; colour[3] = "#3a9a5b"
  columns = columns ? columns : 1; width = width ? width : 220; height = height ? height : 120
  read_titles(titles)
  across = columns * width
  below = int((panel + columns - 1) / columns) * height
  printf "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"panels\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n", across, below, across, below
  print "<style>#panels text{font:11px Helvetica,Arial,'Liberation Sans',sans-serif;fill:#444444}"
  print "@media screen and (prefers-color-scheme:dark){#panels text{fill:#d0d0d0}}</style>"
  for (p = 1; p <= panel; p++) {
    left = (p - 1) % columns * width + gap
    top = int((p - 1) / columns) * height + gap + 16
    draw(p, title_of[p])
  }
  print "</svg>"
}
function read_titles(text,    i, n) {
  while (text != "") {
    i = index(text, "|")
    title_of[++n] = i ? substr(text, 1, i - 1) : text
    text = i ? substr(text, i + 1) : ""
  }
}
