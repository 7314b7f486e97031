import Synchronization
import WeirExporter

/// Events from outside, one after the other: signals, and requests at the metrics address.
///
/// Those who ask for a reload while one is due share it, so that however many ask, the end is not far behind.
final class LifecycleEvents: Sendable {
  /// Takes the answer to a request over HTTP.
  typealias Answer = @Sendable (AdminAction.Result) -> Void

  struct Entry: Sendable {
    let event: Lifecycle.Event
    fileprivate let answer: Answer?
  }

  /// The reload that is due, and the requests that wait for it.
  private struct DueReload {
    var isDue = false
    var answers: [Answer] = []
  }

  let stream: AsyncStream<Entry>
  private let continuation: AsyncStream<Entry>.Continuation
  private let dueReload = Mutex(DueReload())

  init() {
    (stream, continuation) = AsyncStream.makeStream(of: Entry.self)
  }

  func note(_ event: Lifecycle.Event, answer: Answer? = nil) {
    guard event == .hangUp else {
      continuation.yield(Entry(event: event, answer: answer))
      return
    }
    let isNew = dueReload.withLock { reload in
      defer { reload.isDue = true }
      if let answer { reload.answers.append(answer) }
      return !reload.isDue
    }
    if isNew { continuation.yield(Entry(event: event, answer: nil)) }
  }

  /// Begins with an entry of the stream. Returns what takes its answer.
  func begin(_ entry: Entry) -> Answer? {
    guard entry.event == .hangUp else { return entry.answer }
    let answers = dueReload.withLock { reload in
      defer { reload = DueReload() }
      return reload.answers
    }
    return { result in for answer in answers { answer(result) } }
  }

  /// The actions of the metrics address.
  ///
  /// - Parameter areEnabled: Whether they do anything; otherwise they are answered 403.
  func actions(areEnabled: Bool) -> [String: AdminAction] {
    let refusal = "the lifecycle is not enabled; start weir with --web.enable-lifecycle\n"
    let reload: AdminAction.Act = { done in self.note(.hangUp, answer: done) }
    let quit: AdminAction.Act = { done in
      self.note(.terminate)
      done(AdminAction.Result(status: 200, text: "weir ends, as at SIGTERM\n"))
    }
    return [
      "/-/reload": AdminAction(areEnabled ? reload : nil, refusal: refusal),
      "/-/quit": AdminAction(areEnabled ? quit : nil, refusal: refusal),
    ]
  }
}

extension AdminAction.Result {
  /// The answer to a reload.
  ///
  /// - Parameter problems: The reasons why everything stays as it was; none if the files hold now.
  init(reloadedWith problems: [String]) {
    if problems.isEmpty {
      self.init(status: 200, text: "the configuration was reloaded\n")
    } else {
      let lines = problems + ["the configuration stays as it was"]
      self.init(status: 500, text: lines.map { $0 + "\n" }.joined())
    }
  }

  static let ending = Self(status: 503, text: "weir is ending\n")
}
