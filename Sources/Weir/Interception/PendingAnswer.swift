import Synchronization

/// Work for a request that can be told that the request no longer waits for it.
protocol Abandonable: AnyObject, Sendable {
  func abandon()
}

/// An answer that is given later, once. If the request that waits for it ends first, the work for it is told, and no
/// reference to the request is kept.
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

  /// - Parameter request: The waiting request; without one (nil) the answer can't be abandoned.
  init(of request: Request?, _ completion: @escaping @Sendable (Value) -> Void) {
    state = Mutex(.open(Owed(request: request, completion: completion)))
  }

  var isOpen: Bool { state.withLock { $0.owed != nil } }

  /// The request, while it waits.
  var request: Request? { state.withLock { $0.owed?.request } }

  /// Gives the answer; a second one is ignored.
  func callAsFunction(_ value: Value) {
    guard let owed = close(as: .given) else { return }
    if owed.onAbandon != nil { owed.request?.forget(self) }
    owed.completion(value)
  }

  /// Sets the action for a request that ends before the answer; it replaces an earlier action. It runs at once if the
  /// request has ended.
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
    // Another thread may have given the answer meanwhile.
    if !isOpen { request.forget(self) }
  }

  func abandon() {
    close(as: .abandoned)?.onAbandon?()
  }

  /// Returns the completion to the first caller only.
  private func close(as end: State) -> Owed? {
    state.withLock { state in
      guard let owed = state.owed else { return nil }
      state = end
      return owed
    }
  }
}

extension PendingAnswer {
  /// Has a task make the answer; the task is cancelled if the request ends first.
  ///
  /// The task begins on the calling thread, so that work without a suspension changes no thread. Its priority is high,
  /// since the priority of the request's caller is not known.
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
  /// Whether the outcome is fixed, so that no answer can change it.
  var isOver: Bool { fields.withLock { $0.machine.isOver } }

  /// From now on `answer` is told if the request ends. Returns false if it has already ended.
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

/// Passes on the first call of a completion and ignores any further one, on any thread.
package final class SingleCall<Value: Sendable>: Sendable {
  private let isCalled = Atomic(false)
  private let body: @Sendable (Value) -> Void

  package init(_ body: @escaping @Sendable (Value) -> Void) {
    self.body = body
  }

  /// Passes the value on if this is the first call.
  package func callAsFunction(_ value: Value) {
    if isCalled.exchange(true, ordering: .acquiringAndReleasing) { return }
    body(value)
  }
}
