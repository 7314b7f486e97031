import Synchronization
import WeirExporter

/// Events from outside, one after the other: signals, and requests at the metrics address.
///
/// Those who ask for a reload while one is due share it, so that however many ask, the end is not far behind.
struct Occasions: Sendable {
  /// Takes the answer to whoever asked over HTTP.
  typealias Answer = @Sendable (AdminAction.Result) -> Void

  struct Occasion: Sendable {
    let event: Lifecycle.Event
    fileprivate let answer: Answer?
  }

  /// The reload that is due, and those who wait for it.
  private final class DueReload: Sendable {
    private struct State {
      var isDue = false
      var answers: [Answer] = []
    }

    private let state = Mutex(State())

    /// Returns whether it is due only now.
    func add(_ answer: Answer?) -> Bool {
      state.withLock { state in
        defer { state.isDue = true }
        if let answer { state.answers.append(answer) }
        return !state.isDue
      }
    }

    func begin() -> [Answer] {
      state.withLock { state in
        defer { state = State() }
        return state.answers
      }
    }
  }

  let stream: AsyncStream<Occasion>
  private let continuation: AsyncStream<Occasion>.Continuation
  private let dueReload = DueReload()

  init() {
    (stream, continuation) = AsyncStream.makeStream(of: Occasion.self)
  }

  func note(_ event: Lifecycle.Event, answer: Answer? = nil) {
    if event == .hangUp {
      if dueReload.add(answer) { continuation.yield(Occasion(event: event, answer: nil)) }
    } else {
      continuation.yield(Occasion(event: event, answer: answer))
    }
  }

  /// Begins with an occasion of the stream. Returns what takes its answer.
  func begin(_ occasion: Occasion) -> Answer? {
    guard occasion.event == .hangUp else { return occasion.answer }
    let answers = dueReload.begin()
    return { result in for answer in answers { answer(result) } }
  }

  /// The actions of the metrics address.
  ///
  /// - Parameter areEnabled: Whether they do anything; otherwise they are answered 403.
  func actions(areEnabled: Bool) -> [String: AdminAction] {
    let refusal = "the lifecycle is not enabled; start weir with --web.enable-lifecycle\n"
    let reload: AdminAction.Act = { done in note(.hangUp, answer: done) }
    let quit: AdminAction.Act = { done in
      note(.terminate)
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
