/// A metric that a PromQL expression reads, and the labels that it is selected by.
struct Selector: Equatable {
  var metric: String
  var labels: Set<String> = []

  /// Those of an expression that Prometheus takes, and the labels by which it groups or joins.
  static func all(in expression: String) -> (selectors: [Selector], grouping: Set<String>) {
    var reader = Reader(rest: expression[...])
    reader.read()
    return (reader.selectors, reader.grouping)
  }

  private static let grouping: Set<String> = ["by", "without", "on", "ignoring", "group_left", "group_right"]
  private static let words: Set<String> = [
    "and", "or", "unless", "offset", "bool", "sum", "min", "max", "avg", "count", "group", "topk", "bottomk",
  ]

  private struct Reader {
    var rest: Substring
    var selectors: [Selector] = []
    var grouping: Set<String> = []

    mutating func read() {
      while let first = rest.first {
        switch first {
        case "\"": skipText()
        case "{":
          let labels = readLabels()
          if let last = selectors.indices.last { selectors[last].labels = labels }
        case "[": rest = rest.drop { $0 != "]" }
        // A number, or a duration.
        case "0"..."9": rest = rest.drop(while: Self.isWord)
        case _ where Self.isWord(first): readWord()
        default: rest.removeFirst()
        }
      }
    }

    private static func isWord(_ character: Character) -> Bool {
      character.isASCII && (character.isLetter || character.isNumber || character == "_" || character == ":")
    }

    private mutating func readWord() {
      let word = String(rest.prefix(while: Self.isWord))
      rest = rest.dropFirst(word.count).drop { $0 == " " }
      if Selector.grouping.contains(word) {
        let list = rest.dropFirst().prefix { $0 != ")" }
        grouping.formUnion(list.split { $0 == "," || $0 == " " }.map(String.init))
        rest = rest.drop { $0 != ")" }
      } else if rest.first != "(", !Selector.words.contains(word) {
        selectors.append(Selector(metric: word))
      }
    }

    private mutating func skipText() {
      rest = rest.dropFirst().drop { $0 != "\"" }.dropFirst()
    }

    /// The names in `{a="b", c=~"d"}`.
    private mutating func readLabels() -> Set<String> {
      var labels: Set<String> = []
      while let first = rest.first, first != "}" {
        if first == "\"" {
          skipText()
        } else if Self.isWord(first) {
          let name = rest.prefix(while: Self.isWord)
          labels.insert(String(name))
          rest = rest.dropFirst(name.count)
        } else {
          rest.removeFirst()
        }
      }
      return labels
    }
  }
}
