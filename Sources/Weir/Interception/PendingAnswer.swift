import Synchronization

/// What a request waits for may be told that it waits no more.
protocol Abandonable: AnyObject, Sendable {
  func abandon()
}

/// An answer that is given later, once, unless the request that waits for it has ended: then whoever works on it hears of
/// that, and nothing of the request is kept.
final class PendingAnswer<Value: Sendable>: Abandonable {
  private struct Owed {
    let request: Request?
    let completion: @Sendable (Value) -> Void
    var onAbandon: (@Sendable () -> Void)?
  }

  private enum State {
    case open(Owed)
    case given, abandoned

    var owed: Owed? { if case .open(let owed) = self { owed } else { nil } }
  }

  private let state: Mutex<State>

  /// - Parameter request: Nil: nobody knows whose it is, and it can't be abandoned.
  init(of request: Request?, _ completion: @escaping @Sendable (Value) -> Void) {
    state = Mutex(.open(Owed(request: request, completion: completion)))
  }

  var isOpen: Bool { state.withLock { $0.owed != nil } }

  /// The request, as long as it waits.
  var request: Request? { state.withLock { $0.owed?.request } }

  /// Gives the answer. A second one is ignored.
  func callAsFunction(_ value: Value) {
    guard let owed = close(as: .given) else { return }
    if owed.onAbandon != nil { owed.request?.forget(self) }
    owed.completion(value)
  }

  /// Has `action` called, in place of any earlier one, if the request ends before there is an answer; at once if it has.
  func whenAbandoned(_ action: @escaping @Sendable () -> Void) {
    let (request, isAbandoned) = state.withLock { state in
      switch state {
      case .open(var owed):
        owed.onAbandon = action
        state = .open(owed)
        return (owed.request, false)
      case .given: return (nil, false)
      case .abandoned: return (nil, true)
      }
    }
    if isAbandoned { return action() }
    guard let request else { return }
    if !request.notesPending(self) { return abandon() }
    // It may have been given meanwhile, by another thread.
    if !isOpen { request.forget(self) }
  }

  func abandon() {
    close(as: .abandoned)?.onAbandon?()
  }

  /// What was owed, to whom comes first.
  private func close(as end: State) -> Owed? {
    state.withLock { state in
      guard let owed = state.owed else { return nil }
      state = end
      return owed
    }
  }
}

extension PendingAnswer {
  /// Has the answer made by a task, which is cancelled when the request ends before.
  ///
  /// It begins here and now, so that one that has nothing to wait for changes no thread. Its priority is high, since
  /// nobody knows who waits for the request.
  static func make(
    for request: Request?, _ completion: @escaping @Sendable (Value) -> Void,
    _ work: @escaping @Sendable () async -> Value
  ) {
    let answer = PendingAnswer(of: request, completion)
    let task = Task.immediate(priority: .high) { answer(await work()) }
    if answer.isOpen { answer.whenAbandoned { task.cancel() } }
  }
}

extension Request {
  /// Whether nothing that is asked for changes the outcome any more.
  var isOver: Bool { fields.withLock { $0.machine.isOver } }

  /// From now on `answer` hears of the request's end. False: that was before.
  func notesPending(_ answer: any Abandonable) -> Bool {
    fields.withLock { fields in
      if fields.machine.isOver { return false }
      if !fields.pendingAnswers.contains(where: { $0 === answer }) { fields.pendingAnswers.append(answer) }
      return true
    }
  }

  func forget(_ answer: any Abandonable) {
    fields.withLock { fields in fields.pendingAnswers.removeAll { $0 === answer } }
  }
}
