import WeirIO
import WeirTransport

/// Picks among ten endpoints of one worker, with 64 attempts in flight.
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
    let now = MonotonicTime.now
    for _ in 0..<64 { picker.pick(key: .random(in: .min ... .max), at: now)?.begins() }
    let keys = (0..<256).map { EndpointKey.hash([UInt8($0)]) }
    var found = 0
    let pace = median(of: 1_000_000) { index in
      if picker.pick(key: keys[index & 255], at: now) != nil { found &+= 1 }
    }
    precondition(found > 0)
    return pace
  }
}
