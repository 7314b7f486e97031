import WeirIO

@testable import WeirTransport

/// A set of endpoints `10.0.0.0:80`, `10.0.0.1:80` and so on, a worker's picker and the time.
final class EndpointLine {
  let set: EndpointSet
  var picker: EndpointPicker
  var settings: EndpointSettings
  var now = 0.0

  static func time(_ seconds: Double) -> MonotonicTime {
    MonotonicTime(nanoseconds: 1_000_000_000_000 + Int64((seconds * 1e9).rounded()))
  }

  static func spec(_ number: Int, weight: Int = 1, priority: Int = 0) -> EndpointSpec {
    EndpointSpec(host: "10.0.0.\(number)", port: 80, weight: weight, priority: priority)
  }

  init(_ specs: [EndpointSpec], _ settings: EndpointSettings = EndpointSettings(), seed: UInt64 = 1) {
    self.settings = settings
    set = EndpointSet(settings: settings, at: Self.time(0), seed: seed)
    picker = EndpointPicker(set, seed: seed)
    update(specs)
  }

  convenience init(_ count: Int, _ settings: EndpointSettings = EndpointSettings(), seed: UInt64 = 1) {
    self.init((0..<count).map { Self.spec($0) }, settings, seed: seed)
  }

  var time: MonotonicTime { Self.time(now) }

  @discardableResult
  func update(_ specs: [EndpointSpec]) -> Bool { set.update(specs, settings: settings, at: time) }

  /// The endpoint of that place by name.
  subscript(_ index: Int) -> Endpoint { self.set.endpoints[index] }

  func pick(key: UInt64? = nil, tried: TriedEndpoints = TriedEndpoints(), isHedge: Bool = false) -> Endpoint? {
    picker.pick(key: key, excluding: tried, isHedge: isHedge, at: time)
  }

  /// The names that come up in so many picks.
  func picked(_ count: Int = 400, key: UInt64? = nil, tried: TriedEndpoints = TriedEndpoints()) -> Set<String> {
    Set((0..<count).compactMap { _ in pick(key: key, tried: tried)?.name })
  }

  /// An attempt that ends at once, or began so many seconds ago.
  @discardableResult
  func end(_ ending: EndpointEnding, _ index: Int, began: Double? = nil) -> EndpointEvent? {
    set.ended(ending, of: self[index], began: Self.time(began ?? now), at: time)
  }

  func fail(_ index: Int, times: Int = 1) -> [EndpointEvent] {
    (0..<times).compactMap { _ in end(.failed(after: 0.001), index) }
  }

  /// Fails five times, which ejects the endpoint.
  func eject(_ index: Int) { _ = fail(index, times: 5) }

  @discardableResult
  func check(_ index: Int, good: Bool, times: Int = 1) -> [EndpointEvent] {
    (0..<times).flatMap { _ in set.checked(self[index], isGood: good, CheckThresholds(), at: time) }
  }

  func occupy(_ index: Int, times: Int = 1) {
    for _ in 0..<times { self[index].begins() }
  }

  func state(_ index: Int) -> EndpointReport.State { set.report(at: time).endpoints[index].state }
}

/// The endpoint's name.
func name(_ number: Int) -> String { "10.0.0.\(number):80" }
