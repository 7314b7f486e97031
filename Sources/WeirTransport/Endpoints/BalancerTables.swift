/// The order of nginx's smooth weighted round robin, for as long as it takes to repeat: each place as often as its weight
/// says, evenly spread.
enum SmoothSequence {
  /// Additions that may be spent on a sequence, some 10 ms.
  private static let mostWork = 1 << 23

  /// Returns an empty sequence where it would be too long.
  static func make(_ weights: [Int]) -> [UInt32] {
    let divisor = weights.reduce(0, greatestCommonDivisor)
    guard divisor > 0 else { return [] }
    let weights = weights.map { $0 / divisor }
    let total = weights.reduce(0, +)
    if total == weights.count { return weights.indices.map { UInt32(truncatingIfNeeded: $0) } }
    guard total <= mostWork / weights.count else { return [] }
    var present = [Int](repeating: 0, count: weights.count)
    return (0..<total).map { _ in
      var best = 0
      for place in weights.indices {
        present[place] += weights[place]
        if present[place] > present[best] { best = place }
      }
      present[best] -= total
      return UInt32(truncatingIfNeeded: best)
    }
  }

  private static func greatestCommonDivisor(_ left: Int, _ right: Int) -> Int {
    var (left, right) = (left, right)
    while right != 0 { (left, right) = (right, left % right) }
    return left
  }
}

/// Draws places by weight in constant time, from a table of aliases (Vose, 1991).
struct WeightedDraw: Sendable {
  private struct Column: Sendable {
    /// The part of the column that belongs to its own place, of 2^32.
    var threshold: UInt32 = .max
    var alias: UInt32
  }

  private var columns: [Column]

  init(_ weights: [Int]) {
    columns = weights.indices.map { Column(alias: UInt32(truncatingIfNeeded: $0)) }
    let mean = Double(weights.reduce(0, +)) / Double(max(1, weights.count))
    var parts = weights.map { Double($0) / mean }
    var small = parts.indices.filter { parts[$0] < 1 }
    var large = parts.indices.filter { parts[$0] >= 1 }
    while let low = small.popLast(), let high = large.last {
      columns[low] = Column(
        threshold: UInt32(min(max(0, parts[low] * 0x1p32), 0x1p32 - 1)), alias: UInt32(truncatingIfNeeded: high))
      parts[high] -= 1 - parts[low]
      guard parts[high] < 1 else { continue }
      large.removeLast()
      small.append(high)
    }
  }

  /// - Parameter bits: Uniformly random ones.
  /// - Returns: A place; 0 without any.
  func place(_ bits: UInt64) -> Int {
    let place = Int(((bits >> 32) &* UInt64(truncatingIfNeeded: columns.count)) >> 32)
    guard place < columns.count else { return 0 }
    let column = columns[place]
    return UInt32(truncatingIfNeeded: bits) <= column.threshold ? place : Int(column.alias)
  }
}

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

/// A fast generator of random numbers (SplitMix64; Steele, Lea and Flood, 2014). Anybody may guess its next number: that
/// gains a client nothing here.
package struct PickRandom: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  /// From 0 up to 1.
  mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }
}
