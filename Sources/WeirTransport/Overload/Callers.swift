import WeirIO

/// The share of callers that leave a destination by nature: what it usually loses is no reason to control it.
struct CallerLosses: Sendable {
  /// Slots in which the usual share follows.
  private static let slots = 60.0
  /// Its value before anything is known, as if so many attempts had shown it.
  private static let initial = (share: 0.2, attempts: 25.0)
  /// The share above the usual one that is too much, and the callers that it must be at least.
  private static let excess = (share: 0.1, count: 5)

  /// Slots that are judged together. In fewer, callers that leave by nature would by chance seem too many.
  static let judgedSlots = 3

  private var usual = initial.share
  private var attempts = initial.attempts

  /// A slot has ended in which nothing was controlled.
  mutating func note(_ slot: RecentSlots.Slot) {
    guard let share = slot.shareInVain else { return }
    let count = Double(slot.inVain + slot.heads)
    attempts += count
    // It falls fast at first, but does not rise fast: an overload from the start is not what callers do by nature.
    usual += (share - usual) * (share < usual ? max(1 / Self.slots, count / attempts) : 1 / Self.slots)
  }

  /// Whether more callers leave than usual.
  func isExceeded(by slots: RecentSlots.Slot) -> Bool {
    guard let share = slots.shareInVain else { return false }
    // Callers that leave by nature seldom exceed their share by more than that.
    let chance = 3 * (usual * (1 - usual) / Double(slots.inVain + slots.heads)).squareRoot()
    return slots.inVain >= Self.excess.count && share > usual + max(Self.excess.share, chance)
  }
}

extension RecentSlots.Slot {
  /// The share of the attempts that ended whose callers waited in vain.
  fileprivate var shareInVain: Double? {
    inVain + heads == 0 ? nil : Double(inVain) / Double(inVain + heads)
  }
}

/// How long callers wait before they give up: the lower quartile of the ages at which the last of them did.
struct CallerTimeout: Sendable {
  private static let count = 32
  /// Fewer say nothing.
  private static let leastCount = 5
  /// Seconds after which an age is forgotten.
  private static let memory = 30.0

  /// Seconds; nil while too few callers have given up lately. As of the last ``update(at:)``.
  private(set) var seconds: Double?
  private var ages: [(seconds: Double, time: MonotonicTime)] = []
  private var next = 0

  /// A caller gave up at this age.
  mutating func note(_ seconds: Double, at now: MonotonicTime) {
    if ages.count < Self.count { ages.append((seconds, now)) } else { ages[next] = (seconds, now) }
    next = (next + 1) % Self.count
  }

  /// Takes the quartile anew. Called twice a second, as it sorts the ages.
  mutating func update(at now: MonotonicTime) {
    if ages.isEmpty { return }
    let recent = ages.filter { now.seconds(since: $0.time) < Self.memory }
    seconds = recent.count < Self.leastCount ? nil : recent.map(\.seconds).sorted()[recent.count / 4]
    if recent.isEmpty { (ages, next) = ([], 0) }
  }
}
