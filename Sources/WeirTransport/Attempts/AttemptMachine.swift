/// One attempt as a value: whether it may be on the wire, what it waits for there, when its next hop begins.
///
/// ```
/// waiting ─► due ─► onWire ─► draining ─► ended
///             ▲        │
///             └────────┘ a redirect
/// ```
/// Of a stored response, `waiting` or `onWire` lead to `serving`, and that to `draining`. `end` leads from every stage to
/// `ended`. On the wire only who has a slot of the destination reads and sends. An attempt that waits for the caller's code,
/// or is suspended, is *parked*: it keeps its connection and gives up its slot, so that this code can use the same
/// destination. To go on it asks for one again, as it does between two hops.
///
/// Inputs return what is to be done, in the order in which ``Actions`` lists it. There is no lock, clock or I/O in here.
/// What is granted later brings back the number of its question: an answer to a question that nobody asks any more is not
/// for this attempt.
package struct AttemptMachine: Sendable {
  package typealias Question = UInt32

  package enum Stage: Sendable {
    /// The task exists and has not been on the wire.
    case waiting
    /// A hop has its request and is to go on the wire.
    case due
    /// libcurl has the hop.
    case onWire
    /// A stored response is given to its receiver, in place of a transfer or after one that said that it is good.
    case serving
    /// libcurl is done with the last hop; the response's receiver is not.
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
  }

  package enum Wait: Sendable {
    /// For the attempt's first slot, which the caller's time limit and `suspend` apply to.
    case first
    /// For a slot after having had one.
    case again
  }

  /// Why reading waits, besides the want of a slot.
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
  }

  /// What the shell has to do, in this order.
  package struct Actions: OptionSet, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) {
      self.rawValue = rawValue
    }

    /// Take the question for a slot back.
    static let withdraw = Actions(rawValue: 1)
    /// Give the slot back.
    static let release = Actions(rawValue: 2)
    /// The parked connection is parked no more.
    static let unpark = Actions(rawValue: 4)
    static let pauseReceiving = Actions(rawValue: 8)
    static let pauseSending = Actions(rawValue: 16)
    /// Give the slot up and keep the connection; then tell whether the destination agreed.
    static let park = Actions(rawValue: 32)
    /// Ask for a first slot.
    static let ask = Actions(rawValue: 64)
    /// Ask for a slot as one who had one.
    static let askAgain = Actions(rawValue: 128)
    static let resumeSending = Actions(rawValue: 256)
    /// Put the present hop's request on the wire.
    static let startHop = Actions(rawValue: 512)
    static let resumeReceiving = Actions(rawValue: 1024)
    /// Make libcurl end the transfer, which will report that.
    static let cancelTransfer = Actions(rawValue: 2048)
    /// Go on with the end of the transfer, which had waited for the response's receiver.
    static let conclude = Actions(rawValue: 4096)
    /// End the attempt here, as there is no transfer that would report its end.
    static let end = Actions(rawValue: 8192)
  }

  package private(set) var stage = Stage.waiting
  package private(set) var place = Place.outside
  package private(set) var wait: Wait?
  package private(set) var holds: Holds = []
  package private(set) var question: Question = 0
  /// Whether it was put on the wire.
  package private(set) var hasStarted = false

  /// Whether bytes of the response may be taken now.
  package var reads: Bool { holds.isEmpty && wait == nil }

  /// Whether bytes of the request may be sent now.
  var sends: Bool { place != .parked && !holds.contains(.suspended) }

  // MARK: The slot

  mutating func admit() -> Actions { ask(.first) }

  /// It begins with a slot, without having asked: beside another attempt of its request.
  mutating func begins() { place = .slot }

  /// Whether an answer to this question is still waited for.
  func awaits(_ question: Question) -> Bool { wait != nil && self.question == question }

  /// The slot that was asked for is there.
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

  /// Gives up the slot while the caller's code is waited for; not when that has answered already.
  mutating func park(for reason: Holds) -> Actions {
    guard holds.contains(reason) else { return [] }
    let actions = withdraw()
    return place == .slot ? actions.union(.park) : actions
  }

  /// The destination agreed.
  mutating func parked() -> Actions {
    place = .parked
    return .pauseSending
  }

  // MARK: On the wire

  /// A hop goes on the wire.
  mutating func hopStarts() {
    stage = .onWire
    holds = []
    hasStarted = true
  }

  /// Reading waits until there is no reason left to.
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

  /// What was stored is served from now on.
  mutating func serves() { stage = .serving }

  // MARK: The end of a hop and of the attempt

  /// libcurl is done. Whether that has to wait for the response's receiver, who may still say otherwise.
  mutating func transferEnded(failed: Bool) -> Bool {
    guard !failed, !holds.isDisjoint(with: [.decoding, .sink, .cache]) else { return false }
    stage = .draining
    return true
  }

  /// libcurl is done, and whoever writes the body to a file is not, whose code may want the slot.
  mutating func awaitReceiver() -> Actions {
    stage = .draining
    return leave()
  }

  /// The end waits for the receiver, whose code may want the slot.
  mutating func vacate() -> Actions { leave() }

  /// Another hop follows.
  mutating func redirected() -> Actions {
    stage = .due
    let actions = leave()
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

  /// The attempt is over; what it held of the destination goes back.
  mutating func end() -> Actions {
    stage = .ended
    return leave()
  }

  // MARK: Transitions

  private mutating func ask(_ wait: Wait) -> Actions {
    self.wait = wait
    question &+= 1
    return wait == .first ? .ask : .askAgain
  }

  /// Goes on with the transfer or the next hop: at once with a slot, else when there is one again.
  private mutating func goOn() -> Actions {
    if place == .slot { return proceed() }
    return wait == nil ? ask(.again) : []
  }

  private func proceed() -> Actions {
    if stage == .due { return .startHop }
    return reads ? .resumeReceiving : []
  }

  private mutating func leave() -> Actions {
    var actions = withdraw()
    switch place {
    case .outside: break
    case .slot: actions.insert(.release)
    case .parked: actions.insert(.unpark)
    }
    place = .outside
    return actions
  }
}
