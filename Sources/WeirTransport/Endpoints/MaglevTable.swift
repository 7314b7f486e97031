/// The table by which keys find endpoints (Eisenbud et al., Maglev, 2016, section 3.4). It depends on names and weights
/// only, so that all instances agree, and an endpoint less moves few keys of the others.
struct MaglevTable: Sendable {
  /// Primes; the least that is at least 100 × the endpoints, or the last.
  static let sizes = [1_009, 10_007, 65_537]

  private let places: [UInt32]

  /// Has no place for any key.
  static let empty = MaglevTable(names: [], weights: [])

  /// - Parameter names: Sorted.
  init(names: [String], weights: [Int]) {
    guard let heaviest = weights.max(), heaviest > 0, names.count == weights.count else {
      places = []
      return
    }
    let size = Self.sizes.first { $0 >= 100 * names.count } ?? 65_537
    var walks = names.map { Walk($0, size: UInt64(size)) }
    var credits = [Int](repeating: 0, count: weights.count)
    var places = [UInt32](repeating: .max, count: size)
    var free = size
    while free > 0 {
      for index in weights.indices where free > 0 {
        credits[index] += weights[index]
        guard credits[index] >= heaviest else { continue }
        credits[index] -= heaviest
        var place = walks[index].next()
        while places[place] != .max { place = walks[index].next() }
        places[place] = UInt32(truncatingIfNeeded: index)
        free -= 1
      }
    }
    self.places = places
  }

  var size: Int { places.count }

  /// The index of the endpoint for a key; nil if there is none.
  func index(of key: UInt64) -> Int? {
    if places.isEmpty { return nil }
    return Int(places[Int(EndpointKey.mixed(key).multipliedFullWidth(by: UInt64(places.count)).high)])
  }

  /// One endpoint's order of the table's places: a permutation, as the size is a prime.
  private struct Walk {
    private var place: UInt64
    private let skip: UInt64
    private let size: UInt64

    init(_ name: String, size: UInt64) {
      let key = EndpointKey.hash(name.utf8)
      place = EndpointKey.mixed(key) % size
      skip = EndpointKey.mixed(~key) % (size - 1) + 1
      self.size = size
    }

    mutating func next() -> Int {
      defer { place = (place + skip) % size }
      return Int(place)
    }
  }
}

/// Hashes that are alike in all processes, which Swift's `Hasher` is not.
package enum EndpointKey {
  /// The key of a request for a consistent hash: FNV-1a of 64 bits.
  package static func hash(_ octets: some Sequence<UInt8>) -> UInt64 {
    octets.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }

  /// Spreads each bit over all: the last step of MurmurHash3.
  package static func mixed(_ key: UInt64) -> UInt64 {
    var key = key
    key = (key ^ key >> 33) &* 0xFF51_AFD7_ED55_8CCD
    key = (key ^ key >> 33) &* 0xC4CE_B9FE_1A85_EC53
    return key ^ key >> 33
  }
}
