import WeirIO
import WeirTransport

/// Picks among ten endpoints of one worker, with 64 attempts in flight: each pick begins one, and ends the oldest.
struct Picks {
  static let balances: [(name: String, balance: EndpointSettings.Balance)] = [
    ("leastRequests", .leastRequests), ("roundRobin", .roundRobin), ("consistentHash", .consistentHash()),
  ]

  private let set: EndpointSet

  init(_ balance: EndpointSettings.Balance) {
    let settings = EndpointSettings(balance: balance)
    set = EndpointSet(settings: settings, at: .now, seed: 1)
    let specs = (0..<10).map { EndpointSpec(host: "10.0.0.\($0)", port: 80, weight: 1 + $0 % 3) }
    _ = set.update(specs, settings: settings, at: .now)
  }

  func pace() -> Int {
    var picker = EndpointPicker(set, seed: 1)
    var flying = [Endpoint?](repeating: nil, count: 64)
    let now = MonotonicTime.now
    return median(of: 1_000_000) { index in
      let picked = picker.pick(key: EndpointKey.hash([UInt8(truncatingIfNeeded: index)]), at: now)
      picked?.begins()
      flying[index % 64]?.leaves()
      flying[index % 64] = picked
    }
  }
}
