import WeirCurl
import WeirHTTP
import WeirIO

/// Stored responses in place of transfers, and transfers that ask whether a stored response has changed.
///
/// Only the attempt's first request uses the cache; the requests that follow a redirect always go to the server.
extension TaskRunner {
  // MARK: Before the wire

  /// Looks the request up in the cache. False: a transfer is needed, and there is nothing to look up.
  func consultCache() -> Bool {
    let own = hop.request.cachePolicy
    let policy = own == .useProtocolCachePolicy ? core.configuration.requestCachePolicy : own
    lookup &+= 1
    guard let cache = context.cache, request.mayBeCached, hop.request.method == "GET", let url = hop.request.cacheURL,
      let rules = cacheRules(policy)
    else { return endsUnloaded(policy) }
    caching = CacheUse(url: url, rules: rules)
    guard rules.looksUp else { return endsUnloaded(policy) }
    cache.find(url) { [request, task, lookup] found in request.onTask(task) { $0.lookedUp(found, lookup) } }
    return true
  }

  private func cacheRules(_ policy: URLRequest.CachePolicy) -> CacheRules? {
    let fields = core.sentFields(of: hop.request, cookie: core.cookies?.field(for: hop.request))
    return CacheRules.ownQuestions.contains { fields[$0] != nil } ? nil : CacheRules(policy: policy, fields: fields)
  }

  private func lookedUp(_ found: ResponseCache.Found?, _ lookup: UInt32) {
    guard lookup == self.lookup, machine.stage == .waiting, let use = caching, pipeline.decide({ $0.awaitsSlot }) else {
      return
    }
    let usable = found.flatMap {
      $0.entry.fits(url: use.url, request: use.rules.fields, isDecoded: decodesBody) ? $0 : nil
    }
    switch (use.rules.decide(usable?.entry, now: Self.now), usable) {
    case (.serve, .some(let usable)):
      guard pipeline.decide({ $0.admitted($0.step) }) else { return }
      tell(.hit)
      serve(usable, use)
    case (.revalidate, _):
      use.questioned = usable
      attempt.admit()
    case (.fail, _):
      tell(.miss)
      failUncached()
    case (.load, _), (.serve, nil):
      tell(.miss)
      attempt.admit()
    }
  }

  /// Ends the attempt if only the cache may answer, as the cache is not asked.
  private func endsUnloaded(_ policy: URLRequest.CachePolicy) -> Bool {
    guard policy == .returnCacheDataDontLoad else { return false }
    failUncached()
    return true
  }

  private func failUncached() {
    guard pipeline.decide({ $0.admitted($0.step) }) else { return }
    ended(
      error: urlError(
        .resourceUnavailable, "the cache has no usable response, and returnCacheDataDontLoad forbids a transfer"))
  }

  // MARK: A stored response in place of a transfer

  private func serve(_ found: ResponseCache.Found, _ use: CacheUse) {
    body = ResponseBody(limit: request.maximumBodySize)
    attempt.serves()
    show(found, use)
    feedFromCache()
  }

  private func show(_ found: ResponseCache.Found, _ use: CacheUse) {
    use.served = found.data
    let response = LazyHTTPResponse(found.response)
    task.received(response)
    tell(response)
    passOn(response)
  }

  /// The transfer answered with a 304 is over and the stored body follows, for which no slot is needed.
  func serveAfterTransfer(_ ending: CacheUse.Ending) -> Bool {
    guard let use = caching, use.served != nil, ending.error == nil, body.failure == nil else { return false }
    use.ending = ending
    attempt.serves()
    attempt.vacate()
    feedFromCache()
    return true
  }

  var isServedFromCache: Bool { caching?.served != nil }

  /// A 304 has no body (RFC 9110 section 15.4.5); these bytes would be delivered before the stored body.
  func refuseBody() -> Flow {
    body.failure = urlError(.badServerResponse, "the server sent a body with a 304, which has none")
    return .stop
  }

  private static let bytesPerPiece = 64 << 10
  private static let piecesPerTurn = 4

  /// Gives the receiver more of a stored body, as long as the receiver takes it.
  func feedFromCache() {
    guard machine.stage == .serving, let use = caching, let data = use.served, !use.isFeeding else { return }
    use.isFeeding = true
    var pieces = 0
    while use.offset < data.count, machine.stage == .serving, machine.reads, body.failure == nil {
      if pieces == Self.piecesPerTurn {
        core.loop.post { [request, task] in request.onTask(task) { $0.feedFromCache() } }
        use.isFeeding = false
        return
      }
      pieces += 1
      let piece = data.dropFirst(use.offset).prefix(Self.bytesPerPiece)
      use.offset += piece.count
      piece.withUnsafeBytes { deliver($0) }
    }
    use.isFeeding = false
    guard machine.stage == .serving, machine.reads || body.failure != nil else { return }
    use.served = nil
    let ending = use.ending ?? (nil, TransferReport(startTime: .now, total: 0))
    let awaitsSink = body.failure == nil && awaitsSink()
    if attempt.awaitsEnd(failed: !awaitsSink) {
      body.ending = ending
    } else {
      transferEnded(ending.error, ending.report)
    }
  }

  // MARK: The server's answer

  /// Whether the response confirms the stored one. If so, the stored response takes its place.
  func isConfirmedByServer(_ response: LazyHTTPResponse) -> Bool {
    guard response.statusCode == 304, attempt.costs.sums.redirectCount == 0, let use = caching,
      let stored = use.questioned
    else { return false }
    use.questioned = nil
    let fields = response.head.combinedFields()
    guard stored.entry.isConfirmed(by: fields.lowercasingNames()) else {
      repeatHop(with: hop.request.urlRequest)
      return true
    }
    let found = stored.updated(with: fields, request: use.sent, requested: use.requested, received: Self.now)
    if CacheEntry.mayStore(status: found.response.statusCode, fields: found.entry.fields) {
      context.cache?.store(found.cached, as: found.entry)
    } else {
      context.cache?.remove(use.url)
    }
    attempt.forgetContentEncoding()
    attempt.noteLatency()
    answered(response)
    guard goesOn(status: found.response.statusCode) else { return true }
    tell(.revalidated)
    show(found, use)
    return true
  }

  /// RFC 9111 section 4.4: an unsafe request makes the stored response for its URL out of date, also if redirected.
  func invalidateCache(_ status: Int) {
    guard let cache = context.cache, !RequestMethods.safe.contains(hop.request.method), (200..<400).contains(status),
      let url = hop.request.cacheURL
    else { return }
    cache.remove(url)
  }

  /// A final response has come from the server, and may be stored.
  func noteForCache(_ response: LazyHTTPResponse) {
    guard let cache = context.cache, attempt.costs.sums.redirectCount == 0, let use = caching else { return }
    let status = response.statusCode
    if use.questioned != nil { tell(status < 400 ? .refreshed : .miss) }
    use.questioned = nil
    let fields = response.head.combinedFields().lowercasingNames()
    guard use.rules.mayStore, CacheEntry.mayStore(status: status, fields: fields) else { return }
    let entry = CacheEntry(
      url: use.url, fields: fields, requested: use.requested, received: Self.now, request: use.sent,
      isDecoded: decodesBody)
    guard task.countOfBytesExpectedToReceive <= cache.maximumSize else { return }
    // A response that varies by Authorization can't be found again if a challenge was answered: the next request has no
    // such field before it is challenged too.
    if entry.selecting.keys.contains("authorization"), hop.answer.value != nil { return }
    use.candidate = entry
    use.collected = request is DataRequest ? nil : Data()
  }

  /// Collects bytes that were delivered to the request, if they may be stored.
  func collectForCache(_ bytes: UnsafeRawBufferPointer) {
    guard let use = caching, use.candidate != nil, use.collected != nil else { return }
    use.collected?.append(contentsOf: bytes)
    guard let cache = context.cache, let collected = use.collected else { return }
    // A stream may have no end, so the collected bytes have a limit.
    let limit = min(Int64(cache.maximumSize), core.configuration.maximumResponseSize ?? .max)
    if collected.count > limit { (use.candidate, use.collected) = (nil, nil) }
  }

  // MARK: Storing

  /// Called after a successful transfer. Returns whether the attempt's end waits for the handler that decides about
  /// storing.
  func asksToStore(_ report: TransferReport) -> Bool {
    guard let use = caching, let entry = use.candidate, let cache = context.cache else { return false }
    use.candidate = nil
    guard !attempt.discardsBody, outcome(nil) == nil,
      pipeline.decide({ $0.isTransferring }), let response = task.lazyResponse?.response
    else { return false }
    let data = use.collected ?? (request as? DataRequest)?.data ?? Data()
    use.collected = nil
    guard data.count <= cache.maximumSize else { return false }
    let proposal = CachedURLResponse(response: response, data: data, userInfo: nil, storagePolicy: .allowed)
    if context.monitors.wants(.tasks), let session = context.session {
      context.monitors.urlSession(session, dataTask: task, willCacheResponse: proposal)
    }
    guard let handler = request.cachedResponseHandler ?? context.settings.cachedResponseHandler else {
      cache.store(proposal, as: entry)
      return false
    }
    hold(.cache)
    _ = attempt.awaitsEnd(failed: false)
    body.ending = (nil, report)
    attempt.vacate()
    let answer = SingleCall<CachedURLResponse?> { [request, task] answer in
      request.onTask(task) { $0.cacheDecided(answer, entry) }
    }
    context.onRootQueue { [task] in handler.dataTask(task, willCacheResponse: proposal) { answer($0) } }
    return true
  }

  private func cacheDecided(_ answer: CachedURLResponse?, _ entry: CacheEntry) {
    guard machine.holds.contains(.cache) else { return }
    if let answer { store(answer, as: entry) }
    release(.cache)
  }

  /// Stores a response as the caller's handler has changed it.
  private func store(_ answer: CachedURLResponse, as entry: CacheEntry) {
    guard let cache = context.cache, let use = caching else { return }
    var entry = entry
    if let response = answer.response as? HTTPURLResponse {
      entry.replaceFields(response.textFields.lowercasingNames(), request: use.sent)
    }
    if CacheEntry.mayStore(status: 200, fields: entry.fields) { cache.store(answer, as: entry) }
  }

  private func tell(_ result: CacheResult) { pipeline.monitors.request(request, cache: result) }

  static var now: Double { Date().timeIntervalSince1970 }
}

extension SessionCore {
  /// The header fields of a hop as they are sent, by lower-case name.
  func sentFields(of hop: HopRequest, cookie: String?) -> [String: String] {
    var fields = configuration.headers.dictionary.lowercasingNames()
    fields.merge(hop.headers.dictionary.lowercasingNames()) { $1 }
    if fields["accept"] == nil { fields["accept"] = "*/*" }
    if fields["cookie"] == nil { fields["cookie"] = cookie }
    return fields
  }
}
