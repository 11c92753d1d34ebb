# The folders of src from the bottom up, for check_includes.sh and check_symbols.sh: a folder may use itself and those below it.

BEGIN {
  count = split("util text settings tensors plot linalg data tables kernel likelihood rows device objective optim knots model predict certify fit " \
                "report api", order, " ")
  for (i = 1; i <= count; i++) { rank[order[i]] = i }
  optim_may["util"]; optim_may["linalg"]; optim_may["optim"]
  plot_user["plot"]; plot_user["report"]
}

# Why the folder `from` may not use the folder `to`; empty if it may.
function refusal(from, to) {
  if (!(from in rank)) { return "the folder src/" from " has no place in the order" }
  if (!(to in rank)) { return "the folder src/" to " has no place in the order" }
  if (rank[to] > rank[from]) { return "src/" to " is above src/" from }
  if (from == "optim" && !(to in optim_may)) { return "src/optim knows of src/util and src/linalg only" }
  if (to == "plot" && !(from in plot_user)) { return "src/plot is for src/report" }
  return ""
}
