import WeirIO
import WeirMetrics
import WeirTransport

/// The access log of one worker: makes lines, and hands those of a turn to the writer together. Confined to the loop.
final class AccessRecorder {
  private let loop: EventLoop
  /// Nil while there is no log.
  private var writer: AccessLogWriter?
  private var settings: AccessLogSettings?
  @exclusivity(unchecked) private var formatter = AccessLogFormatter(AccessLogSettings(to: .standardError))
  private var sampling = AccessSampling(share: 1)
  private var random = PickRandom(seed: .random(in: .min ... .max))
  @exclusivity(unchecked) private var lines: [UInt8] = []
  @exclusivity(unchecked) private var count = 0

  init(on loop: EventLoop) {
    self.loop = loop
  }

  /// Makes further lines as the settings say; none without them.
  func follow(_ settings: AccessLogSettings?, _ writer: AccessLogWriter?) {
    flush()
    self.writer = settings == nil ? nil : writer
    guard let settings, settings != self.settings else { return }
    self.settings = settings
    formatter = AccessLogFormatter(settings)
    sampling = AccessSampling(share: settings.sampleSuccesses)
  }

  /// Whether a request has a line. Counts those that have none because they are sampled out.
  func records(status: Int, isCut: Bool) -> Bool {
    guard let writer else { return false }
    if sampling.keeps(status: status, isCut: isCut, draw: random.next()) { return true }
    writer.counters.sampledOut.increment()
    return false
  }

  /// Adds a line.
  func record(_ facts: borrowing AccessFacts, values: AccessLogFormatter.FieldValues) {
    if count == 0 { loop.atEndOfTurn { [weak self] in self?.flush() } }
    formatter.append(facts, values: values, to: &lines)
    count += 1
  }

  /// Hands the lines to the writer.
  func flush() {
    guard count > 0 else { return }
    lines.withUnsafeBytes { writer?.add($0, count: count) }
    count = 0
    lines.removeAll(keepingCapacity: lines.capacity <= Self.keptBytes)
  }

  private static let keptBytes = 256 << 10
}

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
