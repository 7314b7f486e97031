/// One attempt as a value: whether it may be on the wire, what it waits for there, and when its next hop begins.
///
/// ```
/// waiting ─► due ─► onWire ─► draining ─► ended
///             ▲        │
///             └────────┘ a redirect
/// ```
/// A stored response leads from `waiting` or `onWire` to `serving`, and from there to `draining`. `end` leads from
/// every stage to `ended`. On the wire an attempt reads and sends only while it has a slot of the destination. An
/// attempt that waits for the caller's code, or is suspended, is *parked*: it keeps its connection and gives up its
/// slot, so that this code can use the same destination. To continue it asks for a slot again, as it does between two
/// hops. A response whose receiver is slow *drains*: it has given up its slot for good, and goes on as the receiver takes
/// it.
///
/// Inputs return the actions to perform, in the order of ``Actions``. There is no lock, clock or I/O in here. A slot
/// that is granted later comes with the number of the question for it. An answer to an outdated question is not for
/// this attempt.
package struct AttemptMachine: Sendable {
  package typealias Question = UInt32

  package enum Stage: Sendable {
    /// The task exists and has not been on the wire.
    case waiting
    /// A hop has its request and is to go on the wire.
    case due
    /// The engine has the hop.
    case onWire
    /// A stored response is given to its receiver, in place of a transfer or after a transfer that confirmed it.
    case serving
    /// The engine has finished the last hop, and the response's receiver has not.
    case draining
    /// The task is complete.
    case ended
  }

  package enum Place: Sendable {
    /// Neither a slot nor a connection.
    case outside
    case slot
    /// A connection without a slot.
    case parked
    /// A connection that needs no slot any more.
    case drains
  }

  package enum Wait: Sendable {
    /// The attempt waits for its first slot; the caller's time limit and `suspend` apply to this wait.
    case first
    /// The attempt waits for a slot after it had one.
    case again
  }

  /// The reasons to stop reading, besides a missing slot.
  package struct Holds: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
      self.rawValue = rawValue
    }

    package static let suspended = Holds(rawValue: 1)
    package static let redirect = Holds(rawValue: 2)
    package static let observer = Holds(rawValue: 8)
    package static let decoding = Holds(rawValue: 16)
    package static let sink = Holds(rawValue: 32)
    package static let cache = Holds(rawValue: 64)
    /// The verdict about a retry waits for a credential.
    package static let verdict = Holds(rawValue: 128)
  }

  /// Actions for the shell, in the order in which it must perform them.
  struct Actions: OptionSet, Sendable {
    let rawValue: UInt16

    /// Take the question for a slot back.
    static let withdraw = Actions(rawValue: 1)
    /// Give the slot back.
    static let release = Actions(rawValue: 2)
    /// Count the parked connection as parked no longer.
    static let unpark = Actions(rawValue: 4)
    static let pauseReceiving = Actions(rawValue: 8)
    static let pauseSending = Actions(rawValue: 16)
    /// Give the slot up and keep the connection; then report whether the destination agreed.
    static let park = Actions(rawValue: 32)
    /// Ask for a first slot.
    static let ask = Actions(rawValue: 64)
    /// Ask for a slot, with the precedence of an attempt that had one.
    static let askAgain = Actions(rawValue: 128)
    static let resumeSending = Actions(rawValue: 256)
    /// Put the present hop's request on the wire.
    static let startHop = Actions(rawValue: 512)
    static let resumeReceiving = Actions(rawValue: 1024)
    /// Make the engine end the transfer, which then reports its end.
    static let cancelTransfer = Actions(rawValue: 2048)
    /// Continue the end of the transfer, which had waited for the response's receiver.
    static let conclude = Actions(rawValue: 4096)
    /// End the attempt here, as no transfer would report its end.
    static let end = Actions(rawValue: 8192)
    /// Give the slot up for good; then report whether the destination agreed.
    static let drain = Actions(rawValue: 16384)
  }

  package private(set) var stage = Stage.waiting
  package private(set) var place = Place.outside
  package private(set) var wait: Wait?
  package private(set) var holds: Holds = []
  package private(set) var question: Question = 0
  /// Whether the attempt was put on the wire.
  package private(set) var hasStarted = false

  /// Whether bytes of the response may be taken now.
  package var reads: Bool { holds.isEmpty && wait == nil }

  /// Whether bytes of the request may be sent now.
  var sends: Bool { place != .parked && !holds.contains(.suspended) }

  // MARK: The slot

  mutating func admit() -> Actions { ask(.first) }

  /// The attempt begins with a slot, without having asked, beside another attempt of its request.
  mutating func begins() { place = .slot }

  /// Whether the attempt still waits for the answer to this question.
  func awaits(_ question: Question) -> Bool { wait != nil && self.question == question }

  /// The destination has granted the slot.
  mutating func granted() -> Actions {
    var actions: Actions = []
    if wait == .again { actions.insert(.resumeSending) }
    if place == .parked { actions.insert(.unpark) }
    wait = nil
    place = .slot
    if stage == .waiting { stage = .due }
    return actions.union(proceed())
  }

  /// The wait for a first slot is over without one.
  mutating func withdraw() -> Actions {
    guard wait != nil else { return [] }
    wait = nil
    return .withdraw
  }

  /// Gives up the slot while the caller's code runs, unless that has answered already.
  mutating func park(for reason: Holds) -> Actions {
    guard holds.contains(reason) else { return [] }
    let actions = withdraw()
    return place == .slot ? actions.union(.park) : actions
  }

  /// The destination agreed to park the connection.
  mutating func parked() -> Actions {
    place = .parked
    return .pauseSending
  }

  /// Gives up the slot for good, as the receiver of the response has not taken what there is for too long.
  mutating func drain() -> Actions {
    place == .slot && stage == .onWire && holds.contains(.sink) ? .drain : []
  }

  /// The destination agreed to let the response drain.
  mutating func drains() { place = .drains }

  // MARK: On the wire

  /// A hop goes on the wire.
  mutating func hopStarts() {
    stage = .onWire
    holds = []
    hasStarted = true
  }

  /// Stops reading until no reason to hold is left.
  mutating func hold(_ reason: Holds) -> Actions {
    holds.insert(reason)
    return stage == .onWire ? .pauseReceiving : []
  }

  mutating func release(_ reason: Holds) -> Actions {
    guard holds.remove(reason) != nil, reads else { return [] }
    switch stage {
    case .onWire: return goOn()
    case .serving: return .resumeReceiving
    case .draining: return .conclude
    case .waiting, .due, .ended: return []
    }
  }

  mutating func suspend() -> Actions {
    hold(.suspended).union(.pauseSending).union(park(for: .suspended))
  }

  mutating func resume() -> Actions {
    var actions = release(.suspended)
    if place != .parked { actions.insert(.resumeSending) }
    return stage == .due ? actions.union(goOn()) : actions
  }

  /// The stored response is served from now on.
  mutating func serves() { stage = .serving }

  // MARK: The end of a hop and of the attempt

  /// The engine is done. Returns whether the end has to wait for the response's receiver, which may still fail the
  /// attempt.
  mutating func transferEnded(failed: Bool) -> Bool {
    guard !failed, !holds.isDisjoint(with: [.decoding, .sink, .cache, .verdict]) else { return false }
    stage = .draining
    return true
  }

  /// The engine is done, and the writer of the body's file is not. The slot is given up, as the writer's code may need it.
  mutating func awaitReceiver() -> Actions {
    stage = .draining
    return vacate()
  }

  /// Another hop follows.
  mutating func redirected() -> Actions {
    stage = .due
    let actions = vacate()
    return holds.contains(.suspended) ? actions : actions.union(goOn())
  }

  /// Ends the attempt wherever it is.
  mutating func cancel() -> Actions {
    let actions = withdraw()
    switch stage {
    case .waiting, .due, .serving: return actions.union(.end)
    case .onWire: return actions.union(.cancelTransfer)
    case .draining: return actions.union(.conclude)
    case .ended: return actions
    }
  }

  /// The attempt is over and gives back its place at the destination.
  mutating func end() -> Actions {
    stage = .ended
    return vacate()
  }

  // MARK: Transitions

  private mutating func ask(_ wait: Wait) -> Actions {
    self.wait = wait
    question &+= 1
    return wait == .first ? .ask : .askAgain
  }

  /// Continues with the transfer or the next hop: at once with a slot, otherwise after it has been granted one again.
  private mutating func goOn() -> Actions {
    if place == .slot || place == .drains { return proceed() }
    return wait == nil ? ask(.again) : []
  }

  private func proceed() -> Actions {
    if stage == .due { return .startHop }
    return reads ? .resumeReceiving : []
  }

  /// Gives up the slot. Also while the end waits for the receiver, whose code may need the slot.
  mutating func vacate() -> Actions {
    var actions = withdraw()
    switch place {
    case .outside: break
    case .slot: actions.insert(.release)
    case .parked, .drains: actions.insert(.unpark)
    }
    place = .outside
    return actions
  }
}
