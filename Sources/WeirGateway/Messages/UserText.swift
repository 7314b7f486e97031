import WeirHTTP
import WeirIO

// Functions for messages about a user's input.

/// A user's value for an error text, cut at 64 characters or another limit.
func quoted(_ text: String, limit: Int = 64) -> String { text.inQuotes(limit: limit) }

/// The candidate that the user who typed `name` may have meant: the nearest within two edits, or within one edit in
/// three letters. Nil if there is none.
func suggestion(for name: String, among candidates: some Sequence<String>) -> String? {
  let typed = Array(name.utf8.prefix(64))
  let best =
    candidates
    .map { (candidate: $0, distance: editDistance(typed, Array($0.utf8.prefix(64)))) }
    .min { ($0.distance, $0.candidate) < ($1.distance, $1.candidate) }
  guard let best, best.distance <= max(2, typed.count / 3), best.distance < best.candidate.utf8.count else {
    return nil
  }
  return best.candidate
}

/// The optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours each count one.
/// Case doesn't count.
private func editDistance(_ left: [UInt8], _ right: [UInt8]) -> Int {
  let left = left.map(\.lowercased), right = right.map(\.lowercased)
  var beforePrevious: [Int] = []
  var previous = Array(0...right.count)
  for i in left.indices {
    var row = [i + 1]
    for j in right.indices {
      let substitution = previous[j] + (left[i] == right[j] ? 0 : 1)
      var cost = min(previous[j + 1] + 1, row[j] + 1, substitution)
      if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] { cost = min(cost, beforePrevious[j - 1] + 1) }
      row.append(cost)
    }
    beforePrevious = previous
    previous = row
  }
  return previous[right.count]
}
