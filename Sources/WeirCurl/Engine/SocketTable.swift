internal import WeirIO

/// Which readiness libcurl wants to hear of for each descriptor, what is registered for it, and whose connection it is.
///
/// Keep-alive connections change from "read" to "nothing" and back with every request. Withdrawals are therefore not
/// passed on: a descriptor stays registered, and only an event that nobody wants takes it out. That saves two system
/// calls per request, a fifth of its cost.
struct SocketTable {
  /// What has to be done to the loop's registration.
  enum Change: Equatable {
    case none
    case register(IOEvents)
    case update(IOEvents)
    case unregister
  }

  private struct Entry {
    var wanted: IOEvents = []
    var registered: IOEvents = []
    /// Opened through our callback, so its close comes through ours too.
    var isOwn: Bool { socket != nil }
    var socket: OpenedSocket?
    /// A connection stands on it, of which others were told.
    var isConnected = false
    var tag: AnyObject?
    /// The transfer that awaits something here; only compared, never followed.
    var user: UnsafeRawPointer?
    /// Whether responses of HTTP/1 came here, so that whatever comes in between belongs to nobody.
    var isHTTP1 = false
    /// Our port, and the next descriptor that has the same one; −1 for none.
    var localPort: CInt = 0
    var nextWithPort: CInt = -1
  }

  private var entries: [Entry] = []
  /// The first descriptor of each local port: libcurl names a connection by its addresses only. Two connections have the
  /// same one when they lead to different places.
  private var ports: [CInt: CInt] = [:]
  private(set) var openCount = 0

  /// Takes note of a socket just opened; returns one of the same number that must have been closed behind our back.
  mutating func open(_ socket: OpenedSocket, tag: AnyObject?) -> Closed? {
    let index = grow(toHold: socket.descriptor)
    let stale = close(socket.descriptor)
    entries[index] = Entry(socket: socket, tag: tag)
    openCount += 1
    return stale
  }

  struct Closed {
    let tag: AnyObject?
    let isOwn: Bool
    let isConnected: Bool
    let wasRegistered: Bool
  }

  /// Takes a socket out; nil when nothing was known of it.
  mutating func close(_ fd: CInt) -> Closed? {
    guard let index = index(of: fd) else { return nil }
    let entry = entries[index]
    if entry.localPort > 0 { unlink(fd, entry) }
    entries[index] = Entry()
    if entry.isOwn { openCount -= 1 }
    return entry.isOwn || !entry.registered.isEmpty
      ? Closed(
        tag: entry.tag, isOwn: entry.isOwn, isConnected: entry.isConnected, wasRegistered: !entry.registered.isEmpty)
      : nil
  }

  /// A connection stands on a socket of ours; its tag, and false when that was known.
  mutating func connected(_ fd: CInt) -> (isNew: Bool, tag: AnyObject?) {
    guard let index = index(of: fd), entries[index].isOwn, !entries[index].isConnected else { return (false, nil) }
    entries[index].isConnected = true
    return (true, entries[index].tag)
  }

  /// libcurl wants to hear of `events` from now on.
  mutating func want(_ fd: CInt, _ events: IOEvents) -> Change {
    let index = grow(toHold: fd)
    entries[index].wanted = events
    let registered = entries[index].registered
    if events.isEmpty {
      guard entries[index].isOwn else { return settle(index, []) }
      // An idle connection is watched, also one whose response was there before anybody waited for it.
      if entries[index].isConnected { return settle(index, .read) }
    }
    // Readiness to write is nearly always there, so that one must go at once.
    let kept = registered.intersection(.read)
    return settle(index, events.union(kept))
  }

  /// What libcurl is to be told of an event, and what changes when it wanted none of it.
  mutating func ready(_ fd: CInt, _ events: IOEvents) -> (wanted: IOEvents, change: Change) {
    guard let index = index(of: fd) else { return ([], .unregister) }
    let wanted = entries[index].wanted
    if wanted.isEmpty { return ([], settle(index, [])) }
    let failure = events.intersection(.failure)
    let hit = events.intersection(wanted)
    if hit.isEmpty, failure.isEmpty { return ([], settle(index, wanted)) }
    return (hit.union(failure), .none)
  }

  /// `user` awaits something on `fd`.
  mutating func use(_ fd: CInt, by user: UnsafeRawPointer) {
    entries[grow(toHold: fd)].user = user
  }

  /// `user` is done; `fd` may have become another's meanwhile.
  mutating func leave(_ fd: CInt, _ user: UnsafeRawPointer) {
    if let index = index(of: fd), entries[index].user == user { entries[index].user = nil }
  }

  /// Who awaits something on `fd`; to be compared only.
  func user(of fd: CInt) -> UnsafeRawPointer? { index(of: fd).flatMap { entries[$0].user } }

  /// A response came on `fd`.
  mutating func noteResponse(_ fd: CInt, isHTTP1: Bool) {
    if let index = index(of: fd) { entries[index].isHTTP1 = isHTTP1 }
  }

  func isHTTP1(_ fd: CInt) -> Bool { index(of: fd).map { entries[$0].isHTTP1 } ?? false }

  /// Whether a connection is there that was not seen to speak HTTP/1.
  func mayBeHTTP2(_ fd: CInt) -> Bool { index(of: fd).map { entries[$0].isConnected && !entries[$0].isHTTP1 } ?? false }

  /// Whether what comes in on `fd` is nobody's: idle connections of HTTP/2 have their own frames.
  func isIdleHTTP1(_ fd: CInt) -> Bool {
    guard let index = index(of: fd) else { return false }
    let entry = entries[index]
    return entry.isOwn && entry.isHTTP1 && entry.user == nil
  }

  /// The connection on `fd` stands.
  mutating func setLocalPort(_ fd: CInt, _ port: CInt) {
    guard port > 0, let index = index(of: fd), entries[index].isOwn, entries[index].localPort == 0 else { return }
    entries[index].localPort = port
    entries[index].nextWithPort = ports.updateValue(fd, forKey: port) ?? -1
  }

  /// The connection with this port on our side; `isIt` is asked when there are several.
  func connection(atPort port: CInt, _ isIt: (CInt) -> Bool) -> CInt? {
    guard port > 0, var fd = ports[port], let first = index(of: fd) else { return nil }
    if entries[first].nextWithPort < 0 { return fd }
    while let index = index(of: fd) {
      if isIt(fd) { return fd }
      fd = entries[index].nextWithPort
    }
    return nil
  }

  func hasLocalPort(_ fd: CInt) -> Bool { index(of: fd).map { entries[$0].localPort > 0 } ?? false }

  private mutating func unlink(_ fd: CInt, _ entry: Entry) {
    guard var other = ports[entry.localPort] else { return }
    if other == fd {
      ports[entry.localPort] = entry.nextWithPort >= 0 ? entry.nextWithPort : nil
      return
    }
    while let index = index(of: other) {
      let next = entries[index].nextWithPort
      if next == fd {
        entries[index].nextWithPort = entry.nextWithPort
        return
      }
      other = next
    }
  }

  func isOwn(_ fd: CInt) -> Bool { index(of: fd).map { entries[$0].isOwn } ?? false }

  /// Whether the descriptor was not given to another socket since.
  func knows(_ socket: OpenedSocket) -> Bool {
    index(of: socket.descriptor).map { entries[$0].socket == socket } ?? false
  }

  /// The registration could not be made or is gone.
  mutating func forgetRegistration(_ fd: CInt) {
    if let index = index(of: fd) { entries[index].registered = [] }
  }

  var registeredDescriptors: [CInt] {
    entries.indices.filter { !entries[$0].registered.isEmpty }.map { CInt($0) }
  }

  var ownDescriptors: [CInt] {
    entries.indices.filter { entries[$0].isOwn }.map { CInt($0) }
  }

  private mutating func settle(_ index: Int, _ events: IOEvents) -> Change {
    let registered = entries[index].registered
    guard registered != events else { return .none }
    entries[index].registered = events
    if registered.isEmpty { return .register(events) }
    return events.isEmpty ? .unregister : .update(events)
  }

  private func index(of fd: CInt) -> Int? {
    fd >= 0 && Int(fd) < entries.count ? Int(fd) : nil
  }

  private mutating func grow(toHold fd: CInt) -> Int {
    let index = Int(max(fd, 0))
    while entries.count <= index { entries.append(Entry()) }
    return index
  }
}
