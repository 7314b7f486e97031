import Synchronization

// swift-format-ignore: NoLeadingUnderscores
public protocol _SwiftMetricsSendableProtocol: Sendable {}

public protocol CounterHandler: AnyObject, _SwiftMetricsSendableProtocol {
  func increment(by amount: Int64)
  func reset()
}

public protocol FloatingPointCounterHandler: AnyObject, _SwiftMetricsSendableProtocol {
  func increment(by amount: Double)
  func reset()
}

public protocol MeterHandler: AnyObject, _SwiftMetricsSendableProtocol {
  func set(_ value: Int64)
  func set(_ value: Double)
  func increment(by amount: Double)
  func decrement(by amount: Double)
}

public protocol RecorderHandler: AnyObject, _SwiftMetricsSendableProtocol {
  func record(_ value: Int64)
  func record(_ value: Double)
}

public protocol TimerHandler: AnyObject, _SwiftMetricsSendableProtocol {
  func recordNanoseconds(_ duration: Int64)
}

public protocol MetricsFactory: _SwiftMetricsSendableProtocol {
  func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler
  func makeFloatingPointCounter(label: String, dimensions: [(String, String)]) -> any FloatingPointCounterHandler
  func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler
  func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler
  func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler
  func destroyCounter(_ handler: any CounterHandler)
  func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler)
  func destroyMeter(_ handler: any MeterHandler)
  func destroyRecorder(_ handler: any RecorderHandler)
  func destroyTimer(_ handler: any TimerHandler)
}

/// Holds the factory of the process.
public enum MetricsSystem {
  private struct Box { var factory: (any MetricsFactory)? }
  private static let box = Mutex(Box())

  public static func bootstrap(_ factory: any MetricsFactory) { box.withLock { $0.factory = factory } }
}

public final class Counter {
  private let handler: any CounterHandler
  private let factory: any MetricsFactory

  public init(label: String, dimensions: [(String, String)] = [], factory: any MetricsFactory) {
    self.factory = factory
    handler = factory.makeCounter(label: label, dimensions: dimensions)
  }

  public func increment(by amount: some BinaryInteger) { handler.increment(by: Int64(amount)) }
  public func increment() { increment(by: 1) }
  public func reset() { handler.reset() }
  public func destroy() { factory.destroyCounter(handler) }
}

public final class FloatingPointCounter {
  private let handler: any FloatingPointCounterHandler
  private let factory: any MetricsFactory

  public init(label: String, dimensions: [(String, String)] = [], factory: any MetricsFactory) {
    self.factory = factory
    handler = factory.makeFloatingPointCounter(label: label, dimensions: dimensions)
  }

  public func increment(by amount: some BinaryFloatingPoint) { handler.increment(by: Double(amount)) }
  public func destroy() { factory.destroyFloatingPointCounter(handler) }
}

public final class Meter {
  private let handler: any MeterHandler
  private let factory: any MetricsFactory

  public init(label: String, dimensions: [(String, String)] = [], factory: any MetricsFactory) {
    self.factory = factory
    handler = factory.makeMeter(label: label, dimensions: dimensions)
  }

  public func set(_ value: some BinaryInteger) { handler.set(Int64(value)) }
  public func set(_ value: some BinaryFloatingPoint) { handler.set(Double(value)) }
  public func increment(by amount: some BinaryFloatingPoint) { handler.increment(by: Double(amount)) }
  public func decrement(by amount: some BinaryFloatingPoint) { handler.decrement(by: Double(amount)) }
  public func destroy() { factory.destroyMeter(handler) }
}

public class Recorder {
  private let handler: any RecorderHandler
  private let factory: any MetricsFactory

  public init(
    label: String, dimensions: [(String, String)] = [], aggregate: Bool = true, factory: any MetricsFactory
  ) {
    self.factory = factory
    handler = factory.makeRecorder(label: label, dimensions: dimensions, aggregate: aggregate)
  }

  public func record(_ value: some BinaryInteger) { handler.record(Int64(value)) }
  public func record(_ value: some BinaryFloatingPoint) { handler.record(Double(value)) }
  public func destroy() { factory.destroyRecorder(handler) }
}

public final class Timer {
  private let handler: any TimerHandler
  private let factory: any MetricsFactory

  public init(label: String, dimensions: [(String, String)] = [], factory: any MetricsFactory) {
    self.factory = factory
    handler = factory.makeTimer(label: label, dimensions: dimensions)
  }

  public func recordNanoseconds(_ duration: Int64) { handler.recordNanoseconds(duration) }
  public func destroy() { factory.destroyTimer(handler) }
}
