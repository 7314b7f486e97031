import WeirIO

/// The chunks that a stream's handlers have still to get, as a value. It decides which chunk is serialized next and
/// whose call is due, when reading stops and goes on, and when the attempt may end and the request complete.
///
/// A chunk is *undelivered* until every handler's call with it has returned. If a handler's values are kept for a
/// reader, the chunk is undelivered until the reader has taken its value. A handler gets one call at a time, in the
/// order of the chunks, whatever queue it runs on. A call is *owed* from the chunk's arrival until it has returned, or
/// the chunk is dropped.
///
/// Inputs return the actions to perform. There is no lock, clock or I/O in here. Values of the caller are never
/// released here: dropped ones are returned.
struct StreamDelivery<Chunk: Sendable, Value: Sendable>: Sendable {
  /// The most bytes that may wait undelivered.
  static var limit: Int { 1 << 20 }
  /// Reading pauses from here on. The room above it is for the decoded bytes that one read may still bring.
  static var mark: Int { limit - 64 << 10 }
  /// The least size that a chunk counts for: many small chunks take more memory than their bytes.
  static var smallest: Int { 1 << 10 }

  /// The next chunk to serialize, for the handlers that existed when it came.
  struct Work: Sendable {
    let number: Int
    let chunk: Chunk
    let handlers: Int
  }

  /// One handler's call with the value made from a chunk.
  struct Call: Sendable {
    let number: Int
    let value: Value
  }

  struct Actions: OptionSet, Sendable {
    let rawValue: UInt8

    /// The handler's next turn is to be scheduled.
    static var schedule: Actions { Actions(rawValue: 1) }
    /// The attempt goes on, whether it waits to read or to end.
    static var goOn: Actions { Actions(rawValue: 2) }
    /// The calls that the completions waited for have returned.
    static var complete: Actions { Actions(rawValue: 4) }
  }

  private struct Pending {
    let size: Int
    /// Handlers that have not had the chunk.
    var shares: Int
  }

  private struct Handler {
    /// Whether its values are kept until a reader takes them.
    let isRead: Bool
    /// Whether the reader is gone.
    var isClosed = false
    var waiting = Deque<Call>()
    /// Whether a turn is scheduled or running.
    var isScheduled = false
    var running: (number: Int, isRead: Bool)?
    var untaken = Deque<Int>()
  }

  /// Bytes.
  private(set) var undelivered = 0
  /// Calls that have not returned.
  private(set) var owed = 0
  /// Calls under way.
  private(set) var calls = 0
  private var handlers: [Handler] = []
  private var pending: [Int: Pending] = [:]
  private var unserialized = Deque<Work>()
  private var serializing: Int?
  private var nextNumber = 0
  private var firstOfAttempt = 0
  private var isPaused = false
  private var awaitsEnd = false
  /// Whether a handler has failed and the attempt has not yet been told.
  private var hasFailed = false
  private var isSettled = false

  /// Whether a handler still wants chunks.
  var hasHandlers: Bool { !handlers.isEmpty && !isSettled }

  /// Returns the handler's number; nil if nothing more will come.
  mutating func addHandler(isRead: Bool = false) -> Int? {
    if isSettled { return nil }
    handlers.append(Handler(isRead: isRead))
    return handlers.count - 1
  }

  // MARK: The attempt

  /// A response begins. Returns whether reading has to wait for the handlers to take what an earlier attempt brought.
  mutating func responseBegins() -> Bool {
    attemptIsOver()
    isPaused = false
    return mustPause()
  }

  /// A chunk has come. Returns the chunk if it is to be serialized at once.
  mutating func arrived(_ chunk: Chunk, size: Int) -> Work? {
    guard hasHandlers, !hasFailed else { return nil }
    let work = Work(number: nextNumber, chunk: chunk, handlers: handlers.count)
    nextNumber += 1
    let size = max(size, Self.smallest)
    pending[work.number] = Pending(size: size, shares: work.handlers)
    undelivered += size
    owed += work.handlers
    if serializing == nil {
      serializing = work.number
      return work
    }
    unserialized.append(work)
    return nil
  }

  /// Whether reading has to wait. Once it waits, only `goOn` ends the wait, even if later pieces of the same read are
  /// below the mark.
  mutating func mustPause() -> Bool {
    if undelivered >= Self.mark { isPaused = true }
    return isPaused
  }

  /// Whether the attempt may end, now that its transfer is over. If not, it goes on once nothing is owed.
  mutating func mayEnd() -> (Bool, Actions) {
    if owed > 0 || hasFailed {
      awaitsEnd = true
      return (false, [])
    }
    // There is nothing left to read, so values that wait for readers hold nothing up.
    defer { isPaused = false }
    return (true, isPaused ? .goOn : [])
  }

  /// The attempt has ended: failures of its calls no longer concern it.
  mutating func attemptIsOver() {
    firstOfAttempt = nextNumber
    hasFailed = false
    awaitsEnd = false
  }

  // MARK: Serialization

  /// Whether a chunk that waited for serialization is still wanted.
  func isWanted(_ number: Int) -> Bool { pending[number] != nil }

  /// A chunk is serialized, one value for each handler. Returns the handlers whose turn is due, and the next chunk.
  mutating func serialized(_ values: [Value], _ number: Int) -> (due: [Int], next: Work?, actions: Actions) {
    guard serializing == number else { return ([], nil, []) }
    var due: [Int] = []
    if isWanted(number) {
      for (index, value) in values.enumerated() where !skip(index, number) {
        handlers[index].waiting.append(Call(number: number, value: value))
        if !handlers[index].isScheduled { due.append(index) }
        handlers[index].isScheduled = true
      }
    }
    let next = unserialized.popFirst()
    serializing = next?.number
    return (due, next, goesOn())
  }

  /// Whether the handler's reader is gone; the value then counts as delivered.
  private mutating func skip(_ index: Int, _ number: Int) -> Bool {
    guard handlers[index].isClosed else { return false }
    owed -= 1
    deliver(number)
    return true
  }

  // MARK: Calls

  /// The handler's turn has come. Returns nil if there is no call left for it.
  mutating func begin(_ index: Int) -> Call? {
    guard let call = handlers[index].waiting.popFirst() else {
      handlers[index].isScheduled = false
      return nil
    }
    // The reader may take the value before the call returns.
    let isRead = handlers[index].isRead && !handlers[index].isClosed
    if isRead { handlers[index].untaken.append(call.number) }
    handlers[index].running = (call.number, isRead)
    calls += 1
    return call
  }

  /// The call has returned.
  mutating func returned(_ index: Int) -> Actions {
    guard let (number, isRead) = handlers[index].running else { return [] }
    handlers[index].running = nil
    calls -= 1
    owed -= 1
    if !isRead { deliver(number) }
    handlers[index].isScheduled = !handlers[index].waiting.isEmpty
    var actions = goesOn()
    if handlers[index].isScheduled { actions.insert(.schedule) }
    if calls == 0, isSettled { actions.insert(.complete) }
    return actions
  }

  /// The reader has taken the next value.
  mutating func taken(_ index: Int) -> Actions {
    guard let number = handlers[index].untaken.popFirst() else { return [] }
    deliver(number)
    return goesOn()
  }

  /// The reader is gone.
  mutating func close(_ index: Int) -> Actions {
    handlers[index].isClosed = true
    while let number = handlers[index].untaken.popFirst() { deliver(number) }
    return goesOn()
  }

  /// A call has failed: nothing more of its attempt is delivered. Returns nil if that attempt is over or has already
  /// failed.
  mutating func failed(_ number: Int) -> [Call]? {
    guard number >= firstOfAttempt, !hasFailed, !isSettled else { return nil }
    hasFailed = true
    return drop()
  }

  /// Drops everything that waits and returns it. Calls under way go on.
  mutating func drop() -> [Call] {
    var dropped: [Call] = []
    for index in handlers.indices {
      while let call = handlers[index].waiting.popFirst() {
        owed -= 1
        deliver(call.number)
        dropped.append(call)
      }
    }
    while let work = unserialized.popFirst() { forget(work.number) }
    if let serializing { forget(serializing) }
    return dropped
  }

  /// The outcome is fixed. Completions wait until no call is under way.
  mutating func settle() -> [Call] {
    isSettled = true
    return drop()
  }

  // MARK: Counting

  /// One handler has had its share of a chunk.
  private mutating func deliver(_ number: Int) {
    guard var chunk = pending[number] else { return }
    chunk.shares -= 1
    pending[number] = chunk.shares > 0 ? chunk : nil
    if chunk.shares == 0 { undelivered -= chunk.size }
  }

  /// Discards a chunk that is not serialized: no handler gets it.
  private mutating func forget(_ number: Int) {
    guard let chunk = pending.removeValue(forKey: number) else { return }
    undelivered -= chunk.size
    owed -= chunk.shares
  }

  private mutating func goesOn() -> Actions {
    // The attempt is told of the failure first, and no longer waits for this.
    if hasFailed { return [] }
    if awaitsEnd, owed == 0 {
      awaitsEnd = false
      return .goOn
    }
    guard isPaused, undelivered < Self.limit / 2 else { return [] }
    isPaused = false
    return .goOn
  }
}
