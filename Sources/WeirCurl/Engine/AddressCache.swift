internal import Glibc

/// The last address as a String, kept because most transfers go to the address of the one before.
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
