/// A table with one row each for a name, a number and its unit.
struct TextTable {
  private var rows: [(name: String, number: String, unit: String)] = []

  /// Adds a duration, shown in milliseconds.
  mutating func add(_ name: String, seconds: TimeInterval) {
    add(name, String(format: "%.3f", seconds * 1000), "ms")
  }

  mutating func add(_ name: String, _ number: String, _ unit: String) {
    rows.append((name, number, unit))
  }

  /// The table's text: names aligned to the left, numbers to the right.
  var text: String {
    let name = rows.map(\.name.count).max() ?? 0
    let number = rows.map(\.number.count).max() ?? 0
    return rows.map { row in
      let gap = String(repeating: " ", count: name - row.name.count + 2 + number - row.number.count)
      return row.name + gap + row.number + (row.unit.isEmpty ? "" : " \(row.unit)")
    }.joined(separator: "\n")
  }
}
