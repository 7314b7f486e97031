internal import CAres
internal import Glibc
internal import WeirIO

/// The addresses of one name.
struct HostAddresses {
  var addresses: [IPAddress] = []
  /// The least TTL in seconds; nil if there is none.
  var ttl: Double?
  /// The full name that the name servers were asked for, by the search list; nil if they were not asked.
  var name: String?

  /// The version of IP of which there is no address, if there are some of the other.
  var missingVersion: Question.Family? {
    let present = Set(addresses.map(Question.Family.init(of:)))
    guard present.count == 1 else { return nil }
    return present.contains(.ipv4) ? .ipv6 : .ipv4
  }
}

/// Hears the result of a question.
typealias Tell<Found> = (Result<Found, LookupProblem>) -> Void

/// A question that is under way. c-ares holds a reference until its callback.
class AresQuery<Found> {
  private unowned let channel: AresChannel
  private let tell: Tell<Found>

  init(channel: AresChannel, tell: @escaping Tell<Found>) {
    self.channel = channel
    self.tell = tell
  }

  /// Notes the end.
  ///
  /// - Parameter found: What the name servers said; nil if that was nothing.
  final func ended(_ status: AresStatus, _ found: () -> Result<Found, LookupProblem>?) {
    let result =
      (status == .success ? found() : nil) ?? .failure(status.problem(refusal: channel.datagrams.present))
    channel.ended { [tell] in tell(result) }
  }
}

/// A question for addresses.
final class AddressQuery: AresQuery<HostAddresses> {
  /// Whether the call that asks has not returned. What is known then comes from /etc/hosts.
  var isInFirstCall = true

  static let callback: ares_addrinfo_callback = { argument, status, _, result in
    guard let argument else { return }
    let query = Unmanaged<AddressQuery>.fromOpaque(argument).takeRetainedValue()
    query.ended(AresStatus(rawValue: status)) { result.map { .success(query.read($0.pointee)) } }
    if let result { ares_freeaddrinfo(result) }
  }

  private func read(_ info: ares_addrinfo) -> HostAddresses {
    var found = HostAddresses()
    var least = CInt.max
    var node = info.nodes
    while let present = node?.pointee {
      if let bytes = present.ai_addr {
        let address = SocketAddress(system: UnsafeRawBufferPointer(start: bytes, count: Int(present.ai_addrlen)))
        if let address = IPAddress(address) { found.addresses.append(address) }
      }
      least = min(least, present.ai_ttl)
      node = present.ai_next
    }
    // An alias may be the short-lived part, for it is what moves a name from one place to another.
    var alias = info.cnames
    while let present = alias?.pointee {
      least = min(least, present.ttl)
      alias = present.next
    }
    if !isInFirstCall { found.name = info.name.map { String(cString: $0) } }
    // A TTL with its highest bit set counts as 0 (RFC 2181 §8).
    if !found.addresses.isEmpty, !isInFirstCall || least > 0 { found.ttl = Double(max(0, least)) }
    return found
  }
}

/// A question for SRV records.
final class ServiceQuery: AresQuery<[ServiceRecord]> {
  static let callback: ares_callback = { argument, status, _, bytes, count in
    guard let argument else { return }
    let query = Unmanaged<ServiceQuery>.fromOpaque(argument).takeRetainedValue()
    query.ended(AresStatus(rawValue: status)) { ServiceQuery.read(bytes, count) }
  }

  private static func read(
    _ bytes: UnsafeMutablePointer<UInt8>?, _ count: CInt
  ) -> Result<[ServiceRecord], LookupProblem> {
    var list: UnsafeMutablePointer<ares_srv_reply>?
    let status = AresStatus(rawValue: ares_parse_srv_reply(bytes, count, &list))
    guard status == .success else { return .failure(status.problem(refusal: nil)) }
    defer { ares_free_data(list) }
    var records: [ServiceRecord] = []
    var node = list
    while let present = node?.pointee {
      if let host = present.host {
        records.append(
          ServiceRecord(
            target: String(cString: host), port: present.port, priority: present.priority, weight: present.weight))
      }
      node = present.next
    }
    return .success(records)
  }
}

/// The c-ares that this process has loaded.
package enum AresLibrary {
  /// The version, such as `1.18.1`.
  package static var version: String { ares_version(nil).map { String(cString: $0) } ?? "" }
}

/// A status of c-ares.
struct AresStatus: RawRepresentable, Hashable {
  let rawValue: CInt

  static let success = AresStatus(rawValue: ARES_SUCCESS)

  /// - Parameter refusal: The response code of the datagram that ended the question, if one did. c-ares 1.18 asks the next
  ///   server after SERVFAIL, NOTIMP and REFUSED, and reports the last of them as a refused connection.
  func problem(refusal: ResponseCode?) -> LookupProblem {
    switch rawValue {
    case ARES_ETIMEOUT: .timeout
    case ARES_ENOTFOUND: .noSuchName
    case ARES_ENODATA: .noAddresses
    case ARES_ESERVFAIL: .serverFailure
    case ARES_EREFUSED: .refused
    case ARES_EFORMERR, ARES_ENOTIMP: .other("the name server does not understand the question")
    case ARES_EBADNAME: .badName
    case ARES_EBADRESP: .other("the name server's answer is malformed")
    case ARES_ECONNREFUSED: refusal?.problem ?? .other("no name server can be reached")
    default: .other(String(cString: ares_strerror(rawValue)))
    }
  }
}

/// A response code of DNS (RFC 1035 §4.1.1).
struct ResponseCode: RawRepresentable, Hashable {
  let rawValue: UInt8

  static let serverFailure = ResponseCode(rawValue: 2)
  static let notImplemented = ResponseCode(rawValue: 4)
  static let refused = ResponseCode(rawValue: 5)

  /// The problem that this code is; nil for codes that c-ares reports by a status of their own.
  var problem: LookupProblem? {
    switch self {
    case .serverFailure: .serverFailure
    case .refused: .refused
    case .notImplemented: .other("the name server does not understand the question")
    default: nil
    }
  }
}
