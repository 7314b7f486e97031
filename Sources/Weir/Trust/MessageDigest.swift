internal import Foundation

// The TLS library comes only through libcurl, which offers no digests.

/// SHA-256 (FIPS 180-4 section 6.2), for the digests of public keys, for the keys and request fields of stored responses,
/// and for the parts of a page that its policy names.
package enum SHA256 {
  static func digest(of message: some Collection<UInt8>) -> [UInt8] {
    MessageDigest.of(message, isBigEndian: true, from: initial, by: compress)
  }

  /// The digest in base64, as policies of content (CSP) and pins have it.
  package static func base64(of message: some Collection<UInt8>) -> String {
    Data(digest(of: message)).base64EncodedString()
  }

  package static func hexadecimal(of message: some Collection<UInt8>) -> String {
    digest(of: message).hexadecimal
  }

  private static func compress(_ state: inout [UInt32], _ block: [UInt32]) {
    var schedule = block
    schedule.reserveCapacity(64)
    for index in 16..<64 {
      let (early, late) = (schedule[index - 15], schedule[index - 2])
      let first = rotate(early, 7) ^ rotate(early, 18) ^ (early >> 3)
      let second = rotate(late, 17) ^ rotate(late, 19) ^ (late >> 10)
      schedule.append(schedule[index - 16] &+ first &+ schedule[index - 7] &+ second)
    }
    var work = state
    for index in 0..<64 {
      let (a, b, c, e, f, g) = (work[0], work[1], work[2], work[4], work[5], work[6])
      let sum = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
      let choice = (e & f) ^ (~e & g)
      let first = work[7] &+ sum &+ choice &+ constants[index] &+ schedule[index]
      let second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) &+ ((a & b) ^ (a & c) ^ (b & c))
      work = [first &+ second, a, b, c, work[3] &+ first, e, f, g]
    }
    for index in 0..<8 { state[index] &+= work[index] }
  }

  private static func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }

  private static let initial: [UInt32] = [
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
  ]

  private static let constants: [UInt32] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
  ]
}

/// MD5 (RFC 1321), for Digest alone: it proves nothing against an attacker any more.
enum MD5 {
  static func digest(of message: some Collection<UInt8>) -> [UInt8] {
    let initial: [UInt32] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476]
    return MessageDigest.of(message, isBigEndian: false, from: initial, by: compress)
  }

  private static func compress(_ state: inout [UInt32], _ block: [UInt32]) {
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    for step in 0..<64 {
      let (mixed, word) =
        switch step / 16 {
        case 0: (b & c | ~b & d, step)
        case 1: (d & b | ~d & c, (5 * step + 1) % 16)
        case 2: (b ^ c ^ d, (3 * step + 5) % 16)
        default: (c ^ (b | ~d), 7 * step % 16)
        }
      let sum = a &+ mixed &+ constants[step] &+ block[word]
      let count = shifts[step / 16][step % 4]
      (a, d, c, b) = (d, c, b, b &+ (sum << count | sum >> (32 - count)))
    }
    for (index, word) in [a, b, c, d].enumerated() { state[index] &+= word }
  }

  private static let shifts: [[UInt32]] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]]

  /// The whole parts of 2³² · |sin(step + 1)| (section 3.4).
  private static let constants = (1...64).map { UInt32(4_294_967_296 * abs(sin(Double($0)))) }
}

/// The frame of both digests, which differ in the order of octets: a message is padded to blocks of 64 octets, each of
/// which changes the state.
private enum MessageDigest {
  static func of(
    _ message: some Collection<UInt8>, isBigEndian: Bool, from initial: [UInt32],
    by compress: (_ state: inout [UInt32], _ block: [UInt32]) -> Void
  ) -> [UInt8] {
    func ordered<Number: FixedWidthInteger>(_ number: Number) -> Number {
      isBigEndian ? number.bigEndian : number.littleEndian
    }
    var padded = Array(message)
    let bits = UInt64(padded.count) << 3
    padded.append(0x80)
    padded.append(contentsOf: repeatElement(0, count: (120 - padded.count % 64) % 64))
    withUnsafeBytes(of: ordered(bits)) { padded.append(contentsOf: $0) }
    var state = initial
    padded.withUnsafeBytes { octets in
      for start in stride(from: 0, to: octets.count, by: 64) {
        let block = (0..<16).map { octets.loadUnaligned(fromByteOffset: start + 4 * $0, as: UInt32.self) }
        compress(&state, block.map(ordered))
      }
    }
    return state.flatMap { word in withUnsafeBytes(of: ordered(word)) { Array($0) } }
  }
}

extension [UInt8] {
  /// Two digits, in lower case, for each octet.
  var hexadecimal: String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}
