internal import Glibc

/// The text of the last address seen, made into a String once: most transfers go where the one before went.
struct AddressCache {
  private var bytes: [CChar] = [0]
  private var text = ""

  mutating func string(_ address: UnsafePointer<CChar>) -> String {
    let isKnown = bytes.withUnsafeBufferPointer { known in
      known.baseAddress.map { strcmp($0, address) == 0 } ?? false
    }
    if isKnown { return text }
    text = String(cString: address)
    bytes = Array(UnsafeBufferPointer(start: address, count: strlen(address) + 1))
    return text
  }
}
