# Shared by the reports of script/bench, whose lines are a program, a case and values: medians over the rounds.

BEGIN { FS = "\t" }

{
  count = ++rounds[$1, $2]
  for (column = 3; column <= NF; column++) values[$1, $2, column, count] = $column + 0
}

function measured(program, name) { return (program, name) in rounds }

function median(program, name, column,    i, sorted) {
  for (i = 1; i <= rounds[program, name]; i++) sorted[i] = values[program, name, column, i]
  return middle(sorted, rounds[program, name])
}

# The median of the rounds' ratios, as text: the machine's other work falls on both programs alike.
function pairwise(program, base, name, column,    count, i, sorted) {
  count = rounds[program, name]
  if (!count || rounds[base, name] != count) return "-"
  for (i = 1; i <= count; i++) {
    if (values[base, name, column, i] == 0) return "-"
    sorted[i] = values[program, name, column, i] / values[base, name, column, i]
  }
  return sprintf("%.2f", middle(sorted, count))
}

function middle(sorted, count,    i, j, swap) {
  for (i = 2; i <= count; i++)
    for (j = i; j > 1 && sorted[j] < sorted[j - 1]; j--) {
      swap = sorted[j]; sorted[j] = sorted[j - 1]; sorted[j - 1] = swap
    }
  return count % 2 ? sorted[(count + 1) / 2] : (sorted[count / 2] + sorted[count / 2 + 1]) / 2
}

# The ratio of two programs, as text; "-" if one was not measured.
function quotient(program, base, name, column) {
  if (!measured(program, name) || !measured(base, name) || median(base, name, column) == 0) return "-"
  return sprintf("%.2f", median(program, name, column) / median(base, name, column))
}

# That ratio, and whether it is within the goal.
function goal(label, program, base, name, column, most,    value) {
  value = quotient(program, base, name, column)
  if (value == "-") return
  printf "%-52s %8s   at most %-6s %s\n", label, value, most, value + 0 <= most ? "met" : "MISSED"
}
