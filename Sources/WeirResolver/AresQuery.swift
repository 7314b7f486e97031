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

/// A question for addresses. c-ares holds a reference until its callback.
final class AddressQuery {
  typealias Tell = (Result<HostAddresses, LookupProblem>) -> Void

  private unowned let channel: AresChannel
  private let tell: Tell
  /// Whether the call that asks has not returned. What is known then comes from /etc/hosts.
  var isInFirstCall = true

  init(channel: AresChannel, tell: @escaping Tell) {
    self.channel = channel
    self.tell = tell
  }

  static let callback: ares_addrinfo_callback = { argument, status, _, result in
    guard let argument else { return }
    let query = Unmanaged<AddressQuery>.fromOpaque(argument).takeRetainedValue()
    query.ended(AresStatus(rawValue: status), result)
    if let result { ares_freeaddrinfo(result) }
  }

  private func ended(_ status: AresStatus, _ info: UnsafeMutablePointer<ares_addrinfo>?) {
    let result: Result<HostAddresses, LookupProblem> =
      if status == .success, let info {
        .success(read(info.pointee))
      } else {
        .failure(status.problem(refusal: channel.datagrams.present))
      }
    channel.ended { [tell] in tell(result) }
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

/// A question for SRV records. c-ares holds a reference until its callback.
final class ServiceQuery {
  typealias Tell = (Result<[ServiceRecord], LookupProblem>) -> Void

  private unowned let channel: AresChannel
  private let tell: Tell

  init(channel: AresChannel, tell: @escaping Tell) {
    self.channel = channel
    self.tell = tell
  }

  static let callback: ares_callback = { argument, status, _, bytes, count in
    guard let argument else { return }
    let query = Unmanaged<ServiceQuery>.fromOpaque(argument).takeRetainedValue()
    query.ended(AresStatus(rawValue: status), UnsafeRawBufferPointer(start: bytes, count: Int(count)))
  }

  private func ended(_ status: AresStatus, _ reply: UnsafeRawBufferPointer) {
    let result = status == .success ? read(reply) : .failure(status.problem(refusal: channel.datagrams.present))
    channel.ended { [tell] in tell(result) }
  }

  private func read(_ reply: UnsafeRawBufferPointer) -> Result<[ServiceRecord], LookupProblem> {
    var list: UnsafeMutablePointer<ares_srv_reply>?
    let bytes = reply.baseAddress?.assumingMemoryBound(to: UInt8.self)
    let status = AresStatus(rawValue: ares_parse_srv_reply(bytes, CInt(reply.count), &list))
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
