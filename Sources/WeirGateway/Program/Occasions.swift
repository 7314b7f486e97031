import WeirExporter

/// Events from outside, one after the other: signals, and requests at the metrics address.
struct Occasions: Sendable {
  struct Occasion: Sendable {
    let event: Lifecycle.Event
    /// Takes the answer to whoever asked over HTTP.
    let answer: (@Sendable (AdminAction.Result) -> Void)?
  }

  let stream: AsyncStream<Occasion>
  private let continuation: AsyncStream<Occasion>.Continuation

  init() {
    (stream, continuation) = AsyncStream.makeStream(of: Occasion.self)
  }

  func note(_ event: Lifecycle.Event, answer: (@Sendable (AdminAction.Result) -> Void)? = nil) {
    continuation.yield(Occasion(event: event, answer: answer))
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
