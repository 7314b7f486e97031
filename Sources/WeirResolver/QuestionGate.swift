internal import WeirIO

/// Limits the questions that are under way at once, of all resolvers of one loop. Further ones wait in order.
///
/// Confined to the loop.
package final class QuestionGate {
  /// The questions that may be under way at once.
  package static let standardLimit = 32

  /// Begins a question. Returns false if it is not wanted any more, or was answered without the name servers.
  typealias Step = () -> Bool

  private let limit: Int
  private(set) var underWay = 0
  /// The next questions of lookups that have begun. They come first, because those lookups' time runs.
  private var begun = Deque<Step>()
  private var waiting = Deque<Step>()

  package init(limit: Int = QuestionGate.standardLimit) {
    self.limit = limit
  }

  /// Takes the first step of a lookup, now or when there is room.
  func enter(_ step: @escaping Step) {
    waiting.append(step)
    proceed()
  }

  /// Takes a further step of a lookup that has begun.
  func enterNext(_ step: @escaping Step) {
    begun.append(step)
    proceed()
  }

  /// Notes that a question which had begun has ended.
  func leave() {
    underWay -= 1
    proceed()
  }

  private func proceed() {
    while underWay < limit, let step = begun.popFirst() ?? waiting.popFirst() {
      underWay += 1
      if !step() { underWay -= 1 }
    }
  }
}
