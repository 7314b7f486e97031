import WeirHTTP

/// A place in a text file. Lines and columns count from 1. Columns count characters, as editors show them.
package struct SourcePosition: Hashable, Sendable, Comparable {
  package let line: Int
  package let column: Int

  package static func < (left: Self, right: Self) -> Bool {
    (left.line, left.column) < (right.line, right.column)
  }
}

/// A mistake, or a possible one, in a configuration: its place, its path, and the change that corrects it.
package struct ConfigurationProblem: Error, Hashable, Sendable {
  package let position: SourcePosition?
  package let path: ConfigurationPath
  package let message: String

  package init(at position: SourcePosition?, path: ConfigurationPath, _ message: String) {
    self.position = position
    self.path = path
    self.message = message
  }

  /// The position; one before all others without it.
  var place: SourcePosition { position ?? SourcePosition(line: 0, column: 0) }

  /// `weir.yml:7:5: routes[0].upstrem: unknown key; did you mean "upstream"?`
  ///
  /// - Parameter severity: A word to put behind the place, as compilers do: `weir.yml:7:5: warning: …`
  package func description(file: String, severity: String? = nil) -> String {
    var line = file
    if let position { line += ":\(position.line):\(position.column)" }
    line += ": "
    if let severity { line += "\(severity): " }
    if !path.isEmpty { line += "\(path): " }
    return line + message
  }
}

/// The problems of one configuration file, in the order of the file: the first hundred of them.
package struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
  package let file: String
  package let problems: [ConfigurationProblem]
  /// The number of further problems.
  package let omitted: Int

  /// The maximum number of problems, and of warnings.
  static let maximumCount = 100

  package init(file: String, problems: [ConfigurationProblem]) {
    self.file = file
    // The sort is stable: problems of one place stay in the order in which they were found.
    self.problems =
      problems.enumerated()
      .sorted { ($0.element.place, $0.offset) < ($1.element.place, $1.offset) }
      .prefix(Self.maximumCount).map(\.element)
    omitted = problems.count - self.problems.count
  }

  package var description: String {
    lines.joined(separator: "\n")
  }

  /// One line for each problem, and one with the number of further ones.
  package var lines: [String] {
    let lines = problems.map { $0.description(file: file) }
    return omitted == 0 ? lines : lines + ["\(file): and \(omitted) more problem\(omitted == 1 ? "" : "s")"]
  }
}

/// The way from the document's root to a value: `routes[0].headers.set["X Y"]`.
package struct ConfigurationPath: Hashable, Sendable, CustomStringConvertible {
  package enum Step: Hashable, Sendable {
    case key(String)
    case index(Int)
  }

  package var steps: [Step]

  package init(_ steps: [Step] = []) {
    self.steps = steps
  }

  package var isEmpty: Bool { steps.isEmpty }

  package func key(_ name: String) -> Self { Self(steps + [.key(name)]) }

  package func index(_ index: Int) -> Self { Self(steps + [.index(index)]) }

  package var description: String {
    var text = ""
    for step in steps {
      switch step {
      case .index(let index): text += "[\(index)]"
      case .key(let name) where Self.isPlain(name): text += text.isEmpty ? name : ".\(name)"
      case .key(let name): text += "[\(quoted(name))]"
      }
    }
    return text
  }

  private static func isPlain(_ name: String) -> Bool {
    (1...64).contains(name.utf8.count) && name.utf8.allSatisfy { $0.isLetterOrDigit || "_-".utf8.contains($0) }
  }
}
