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

  /// Nil once it was given, or abandoned.
  private let owed: Mutex<Owed?>

  /// - Parameter request: Nil: nobody knows whose it is, and it can't be abandoned.
  init(of request: Request?, _ completion: @escaping @Sendable (Value) -> Void) {
    owed = Mutex(Owed(request: request, completion: completion))
  }

  var isOpen: Bool { owed.withLock { $0 != nil } }

  /// The request, as long as it waits.
  var request: Request? { owed.withLock { $0?.request } }

  /// Gives the answer. A second one is ignored.
  func callAsFunction(_ value: Value) {
    guard let owed = take() else { return }
    if owed.onAbandon != nil { owed.request?.forget(self) }
    owed.completion(value)
  }

  /// Has `action` called if the request ends before there is an answer; at once if it has.
  func whenAbandoned(_ action: @escaping @Sendable () -> Void) {
    let request = owed.withLock { owed in
      owed?.onAbandon = action
      return owed?.request
    }
    guard let request else { return }
    if !request.notesPending(self) { return abandon() }
    // It may have been given meanwhile, by another thread.
    if !isOpen { request.forget(self) }
  }

  func abandon() {
    take()?.onAbandon?()
  }

  private func take() -> Owed? {
    owed.withLock { owed in
      defer { owed = nil }
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
