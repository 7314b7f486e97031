// Prints what a pick among ten endpoints and a decision among 1,000 routes take: on each line a name, a tab and `ns=`
// with the median of several passes. script/bench runs it.
@main enum MeasureDecisions {
  static func main() throws {
    for (name, balance) in Picks.balances { print("pick-\(name)\tns=\(Picks(balance).pace())") }
    let decisions = try Decisions()
    for kind in Decisions.Kind.allCases { print("decision-\(kind)\tns=\(decisions.pace(of: kind))") }
  }
}
