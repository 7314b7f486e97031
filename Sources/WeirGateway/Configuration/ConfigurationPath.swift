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
    !name.isEmpty && name.utf8.count <= 64
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
          true
        default: false
        }
      }
  }
}
