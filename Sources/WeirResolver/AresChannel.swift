internal import CAres
internal import Glibc
internal import WeirIO

/// A channel of c-ares: the questions that it has under way, their sockets and their timeouts.
///
/// Confined to the loop. No caller's code runs inside c-ares. Its callbacks note what came, and callers are told at the
/// end of the turn. So a caller may ask again or close the channel wherever it is told.
///
/// The loop keeps a channel with questions under way alive until they end, or until `close`.
final class AresChannel {
  let loop: EventLoop
  var datagrams = DatagramReader()

  private var handle: ares_channel?
  /// c-ares keeps a pointer to the functions and no copy.
  private let socketCalls = AresChannel.makeSocketCalls()
  private var watched: Set<CInt> = []
  private let timer = LoopTimer()
  /// The calls that tell of questions which have ended.
  private var reports: [() -> Void] = []
  private var isTelling = false
  private var underWay = 0

  init(loop: EventLoop, settings: AresSettings) throws(LookupProblem) {
    loop.preconditionCurrent()
    self.loop = loop
    let written = settings.servers.list.count
    handle = try makeHandle(settings, serverCount: max(1, written))
    // The time of one try depends on the number of servers, which is known once resolv.conf is read.
    let count = serverCount
    if written == 0, count > 1 {
      destroyHandle()
      handle = try makeHandle(settings, serverCount: count)
    }
  }

  deinit {
    // Reached without `close` only when no question is under way. c-ares has closed its sockets then.
    destroyHandle()
    socketCalls.deallocate()
  }

  /// Whether no question is under way, and none has ended without being told.
  var isIdle: Bool { underWay == 0 && reports.isEmpty && !isTelling }

  /// Asks for a name's addresses: in /etc/hosts, then the name servers. `tell` is called at the end of a turn, once.
  func findAddresses(of name: String, _ family: Question.Family, tell: @escaping Tell<HostAddresses>) {
    let query = AddressQuery(channel: self, tell: tell)
    ask { handle in
      var hints = ares_addrinfo_hints()
      // Sorting would open a socket to each address, and answers are sorted by their numbers.
      hints.ai_flags = ARES_AI_NOSORT
      hints.ai_family = family.systemFamily
      ares_getaddrinfo(handle, name, nil, &hints, AddressQuery.callback, Unmanaged.passRetained(query).toOpaque())
    }
    query.isInFirstCall = false
  }

  /// Asks for a name's SRV records. `tell` is called at the end of a turn, once.
  func findServices(of name: String, tell: @escaping Tell<[ServiceRecord]>) {
    let query = ServiceQuery(channel: self, tell: tell)
    ask { handle in
      ares_query(
        handle, name, RecordType.internet, RecordType.service, ServiceQuery.callback,
        Unmanaged.passRetained(query).toOpaque())
    }
  }

  /// Ends all questions, without telling.
  func close() {
    loop.preconditionCurrent()
    loop.cancel(timer)
    destroyHandle()
    reports = []
    underWay = 0
  }

  /// Notes the end of a question, from within c-ares.
  func ended(_ report: @escaping () -> Void) {
    underWay -= 1
    reports.append(report)
    guard reports.count == 1 else { return }
    loop.atEndOfTurn { [self] in tellReports() }
  }

  private func tellReports() {
    let due = reports
    reports = []
    isTelling = true
    // A caller may close the channel, which is then silent.
    for report in due where handle != nil { report() }
    isTelling = false
  }
}

// MARK: - Entering c-ares

extension AresChannel: EventHandler, TimerHandler {
  func descriptorReady(_ fd: CInt, events: IOEvents) {
    // c-ares learns of an error on a socket by reading or writing.
    let reads = !events.isDisjoint(with: [.read, .failure])
    let writes = !events.isDisjoint(with: [.write, .failure])
    enter { ares_process_fd($0, reads ? fd : ARES_SOCKET_BAD, writes ? fd : ARES_SOCKET_BAD) }
  }

  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    enter { ares_process_fd($0, ARES_SOCKET_BAD, ARES_SOCKET_BAD) }
  }

  private func ask(_ call: (ares_channel) -> Void) {
    loop.preconditionCurrent()
    underWay += 1
    enter(call)
  }

  private func enter(_ call: (ares_channel) -> Void) {
    guard let handle else { return }
    datagrams.beginTurn()
    call(handle)
    datagrams.endTurn()
    armTimer(handle)
  }

  private func armTimer(_ handle: ares_channel) {
    var wait = timeval()
    guard ares_timeout(handle, nil, &wait) != nil else {
      loop.cancel(timer)
      return
    }
    // c-ares rounds down to milliseconds. Without the one more it would find nothing due, again and again.
    let seconds = Double(wait.tv_sec) + Double(wait.tv_usec) * 1e-6 + 1e-3
    loop.schedule(timer, at: MonotonicTime.now.advanced(bySeconds: seconds), handler: self)
  }

  /// Follows c-ares' interest in a socket. Without any it closes the socket next.
  private func watch(_ socket: CInt, for events: IOEvents) {
    do {
      if events.isEmpty {
        loop.unregister(socket)
        watched.remove(socket)
      } else if watched.contains(socket) {
        try loop.update(socket, for: events)
      } else {
        try loop.register(socket, for: events, handler: self)
        watched.insert(socket)
      }
    } catch {
      // The kernel has no room for the registration. c-ares hears nothing from this socket, and its timeout ends the
      // question.
    }
  }
}

// MARK: - The handle

extension AresChannel {
  /// The number of name servers that the channel asks.
  var serverCount: Int {
    var list: UnsafeMutablePointer<ares_addr_port_node>?
    guard let handle, ares_get_servers_ports(handle, &list) == ARES_SUCCESS else { return 1 }
    defer { ares_free_data(list) }
    var count = 0
    var node = list
    while let present = node {
      count += 1
      node = present.pointee.next
    }
    return count
  }

  private func makeHandle(_ settings: AresSettings, serverCount: Int) throws(LookupProblem) -> ares_channel {
    guard Self.libraryStatus == .success else { throw Self.libraryStatus.problem(refusal: nil) }
    let context = Unmanaged.passUnretained(self).toOpaque()
    var handle: ares_channel?
    let status = settings.withOptions(serverCount: serverCount) { options, mask in
      options.sock_state_cb = { context, socket, reads, writes in
        guard let context else { return }
        var events: IOEvents = []
        if reads != 0 { events.insert(.read) }
        if writes != 0 { events.insert(.write) }
        Unmanaged<AresChannel>.fromOpaque(context).takeUnretainedValue().watch(socket, for: events)
      }
      options.sock_state_cb_data = context
      return AresStatus(rawValue: ares_init_options(&handle, &options, mask | ARES_OPT_SOCK_STATE_CB))
    }
    guard status == .success, let handle else { throw status.problem(refusal: nil) }
    ares_set_socket_functions(handle, socketCalls, context)
    guard !settings.servers.list.isEmpty else { return handle }
    let set = AresStatus(rawValue: ares_set_servers_ports_csv(handle, settings.servers.commaSeparated))
    guard set == .success else {
      ares_destroy(handle)
      throw set.problem(refusal: nil)
    }
    return handle
  }

  private func destroyHandle() {
    guard let present = handle else { return }
    handle = nil
    ares_destroy(present)
  }

  /// c-ares is set up once per process. A static property is initialized by one thread alone.
  private static let libraryStatus = AresStatus(rawValue: ares_library_init(ARES_LIB_INIT_ALL))
}

/// The settings of a channel.
struct AresSettings {
  /// The tries at each server. The second waits twice as long as the first (`ares__send_query`).
  private static let tries = 2

  let servers: ResolverServers
  /// The path of resolv.conf. Its search list counts for other servers, too.
  let resolvConf: String
  /// The seconds that all tries take together.
  let timeout: Double

  /// Calls `body` with c-ares' options and the mask of those that are set.
  func withOptions(serverCount: Int, _ body: (inout ares_options, CInt) -> AresStatus) -> AresStatus {
    // c-ares copies both texts. The lookups are files and DNS, in this order, whatever nsswitch.conf has.
    resolvConf.withCString { path in
      "fb".withCString { lookups in
        var options = ares_options()
        // HOSTALIASES would have a file read for each question.
        options.flags = ARES_FLAG_NOALIASES
        options.timeout = millisecondsPerTry(serverCount: serverCount)
        options.tries = CInt(Self.tries)
        options.lookups = UnsafeMutablePointer(mutating: lookups)
        options.resolvconf_path = UnsafeMutablePointer(mutating: path)
        let mask =
          ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS | ARES_OPT_RESOLVCONF
        return body(&options, mask)
      }
    }
  }

  /// The wait of the first try at each server. Both tries at all servers end at nine tenths of the timeout. So a name has
  /// an answer if the addresses of one version of IP came, but the question about the other was lost each time.
  func millisecondsPerTry(serverCount: Int) -> CInt {
    // The second round is twice as long as the first.
    let rounds = (1 << Self.tries) - 1
    return CInt(clamping: max(1, Int(timeout * 900) / (rounds * serverCount)))
  }
}

/// Numbers of DNS (RFC 1035 §3.2, RFC 2782).
enum RecordType {
  static let internet: CInt = 1
  static let service: CInt = 33
}

extension Question.Family {
  var systemFamily: CInt {
    switch self {
    case .any: AF_UNSPEC
    case .ipv4: AF_INET
    case .ipv6: AF_INET6
    }
  }
}

/// The reading of datagrams for c-ares: how many in one turn, and with which response code.
struct DatagramReader {
  /// The most datagrams of one turn. c-ares reads on as long as there are any.
  private static let perTurn = 64

  private var left = perTurn
  /// The response code of the datagram that c-ares works on; nil while it works on none.
  private(set) var present: ResponseCode?

  mutating func beginTurn() {
    left = Self.perTurn
    present = nil
  }

  mutating func endTurn() {
    present = nil
  }

  /// Whether one more may be read in this turn. c-ares is done with the one before.
  mutating func mayRead() -> Bool {
    present = nil
    left -= 1
    return left >= 0
  }

  /// Notes the response code, which is the low half of the fourth byte (RFC 1035 §4.1.1).
  mutating func didRead(_ bytes: UnsafeRawBufferPointer) {
    if bytes.count >= 4 { present = ResponseCode(rawValue: bytes[3] & 0x0F) }
  }
}

extension AresChannel {
  /// The calls on sockets, which do what c-ares' own do, and three things more. A socket is never inherited by a child
  /// process, not even for a moment. A closed connection raises no SIGPIPE. Datagrams are limited and looked at.
  static func makeSocketCalls() -> UnsafeMutablePointer<ares_socket_functions> {
    let calls = UnsafeMutablePointer<ares_socket_functions>.allocate(capacity: 1)
    calls.initialize(
      to: ares_socket_functions(
        asocket: { family, kind, transport, _ in
          socket(family, kind | CInt(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), transport)
        },
        aclose: { socket, _ in Glibc.close(socket) },
        aconnect: { socket, address, length, _ in connect(socket, address, length) },
        arecvfrom: { socket, bytes, count, flags, sender, length, context in
          guard let context, let bytes else { return -1 }
          let channel = Unmanaged<AresChannel>.fromOpaque(context).takeUnretainedValue()
          let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: count)
          return channel.receive(socket, into: buffer, flags, sender, length)
        },
        asendv: { socket, pieces, count, _ in
          var message = msghdr()
          message.msg_iov = UnsafeMutablePointer(mutating: pieces)
          message.msg_iovlen = Int(count)
          return sendmsg(socket, &message, CInt(MSG_NOSIGNAL))
        }))
    return calls
  }

  /// Reads a datagram, or from a connection, for which c-ares wants no sender.
  private func receive(
    _ socket: CInt, into buffer: UnsafeMutableRawBufferPointer, _ flags: CInt,
    _ sender: UnsafeMutablePointer<sockaddr>?, _ length: UnsafeMutablePointer<socklen_t>?
  ) -> Int {
    guard let sender else { return recv(socket, buffer.baseAddress, buffer.count, flags) }
    guard datagrams.mayRead() else {
      // The socket is still ready, and the next turn reads on.
      errno = EAGAIN
      return -1
    }
    let count = recvfrom(socket, buffer.baseAddress, buffer.count, flags, sender, length)
    if count > 0 { datagrams.didRead(UnsafeRawBufferPointer(rebasing: buffer[..<count])) }
    return count
  }
}
