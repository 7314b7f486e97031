/// Decides which requests have a line. A value.
struct AccessSampling: Equatable {
  private let threshold: UInt64
  private let takesAll: Bool

  /// - Parameter share: The share of successes that have one: 0 to 1.
  init(share: Double) {
    takesAll = share >= 1
    threshold = takesAll ? .max : UInt64(max(0, share) * 0x1p64)
  }

  /// Whether a request has a line. Every one with a status of 400 or more has, and every one whose response was cut or
  /// never began.
  ///
  /// - Parameter draw: A number that is equally likely to be any.
  func keeps(status: Int, isCut: Bool, draw: @autoclosure () -> UInt64) -> Bool {
    takesAll || isCut || status >= 400 || status == 0 || draw() < threshold
  }
}
