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
  func findAddresses(
    of name: String, _ family: Question.Family, tell: @escaping (Result<HostAddresses, LookupProblem>) -> Void
  ) {
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
  func findServices(of name: String, tell: @escaping (Result<[ServiceRecord], LookupProblem>) -> Void) {
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
