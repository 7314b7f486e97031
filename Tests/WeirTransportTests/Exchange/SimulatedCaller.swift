extension ExchangeSimulationTests {
  /// The exchange with the caller.
  struct Caller {
    private(set) var hasResponse = false
    /// Whether there is something that it has not taken.
    private(set) var hasUnsent = false
    /// Whether it may have some of the response.
    private var hasSome = false
    private var isBlocked = false

    mutating func begin() {
      hasResponse = true
      hasUnsent = true
    }

    /// Takes a piece; false when it is the last for now.
    mutating func write(isBlocked: Bool) -> Bool {
      hasUnsent = true
      if isBlocked { self.isBlocked = true }
      return !isBlocked
    }

    /// It takes all. Returns whether that was waited for.
    mutating func take() -> Bool {
      defer { isBlocked = false }
      hasUnsent = false
      hasSome = true
      return isBlocked
    }

    /// Takes the response back, unless the caller may have some of it.
    mutating func retract() -> Bool {
      guard hasResponse, !hasSome else { return false }
      self = Caller()
      return true
    }

    mutating func end() { self = Caller() }
  }
}
