/// A result of libcurl's multi interface (libcurl-errors(3)).
struct CurlMultiCode: RawRepresentable, Sendable, Hashable {
  let rawValue: Int32

  init(rawValue: Int32) {
    self.rawValue = rawValue
  }

  static let ok = CurlMultiCode(rawValue: 0)
  static let badHandle = CurlMultiCode(rawValue: 1)
  static let badEasyHandle = CurlMultiCode(rawValue: 2)
  static let outOfMemory = CurlMultiCode(rawValue: 3)
  static let internalError = CurlMultiCode(rawValue: 4)
  static let badSocket = CurlMultiCode(rawValue: 5)
  static let unknownOption = CurlMultiCode(rawValue: 6)
  static let addedAlready = CurlMultiCode(rawValue: 7)
  static let recursiveCall = CurlMultiCode(rawValue: 8)
  static let wakeupFailure = CurlMultiCode(rawValue: 9)
  static let badFunctionArgument = CurlMultiCode(rawValue: 10)
  static let abortedByCallback = CurlMultiCode(rawValue: 11)
  static let unrecoverablePoll = CurlMultiCode(rawValue: 12)
}
