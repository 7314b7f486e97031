@_exported public import ServiceContextModule
import Synchronization

public protocol Injector: Sendable {
  associatedtype Carrier: Sendable
  func inject(_ value: String, forKey key: String, into carrier: inout Carrier)
}

public protocol Extractor: Sendable {
  associatedtype Carrier: Sendable
  func extract(key: String, from carrier: Carrier) -> String?
}

public protocol Instrument: Sendable {
  func extract<Carrier, Extract: Extractor>(
    _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract) where Extract.Carrier == Carrier
  func inject<Carrier, Inject: Injector>(
    _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject) where Inject.Carrier == Carrier
}

/// Holds the instrument of the process.
public enum InstrumentationSystem {
  private struct Box { var instrument: any Instrument = NoInstrument() }
  private static let box = Mutex(Box())

  public static func bootstrap(_ instrument: any Instrument) { box.withLock { $0.instrument = instrument } }
  public static var instrument: any Instrument { box.withLock { $0.instrument } }
}

private struct NoInstrument: Instrument {
  func extract<Carrier, Extract: Extractor>(
    _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
  ) where Extract.Carrier == Carrier {}
  func inject<Carrier, Inject: Injector>(
    _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
  ) where Inject.Carrier == Carrier {}
}
